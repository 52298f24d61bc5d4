"""Which nodes a pod may go to by its own terms, and what is free there as we count it. Pure.

A pod's terms are its node selector, its required node affinity and its tolerations; thousands of
pods share a few, so what they reach is worked out once a look.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from portal.kubernetes import placing, pods, quantities
from portal.kubernetes.port import Listing, Manifest

_WHOLE = re.compile(r"-?[0-9]{1,18}")
KEEPS_AWAY = ("NoSchedule", "NoExecute")
Spec = Mapping[str, Any]
T = TypeVar("T")


@dataclass(slots=True)
class Machine:
    """A node: what it says of itself, what it offers of each device, and what is free on it."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, Any]]
    open: bool
    offers: Mapping[str, int]
    cpu_milli: int
    memory_mib: int
    free: dict[str, int]
    free_cpu: int
    free_memory: int


@dataclass(frozen=True, slots=True)
class Need:
    """What one pod asks for on one node."""

    devices: Mapping[str, int]
    cpu_milli: int
    memory_mib: int

    @property
    def key(self) -> Hashable:
        """The same for pods that ask for the same."""
        return (*sorted(self.devices.items()), self.cpu_milli, self.memory_mib)


@dataclass(frozen=True, slots=True)
class Reach:
    """The nodes whose labels a pod accepts, and those of them that accept it too."""

    matching: tuple[Machine, ...]
    usable: tuple[Machine, ...]


@dataclass(slots=True)
class Room:
    """Every node of a look, and what pods of the same terms reach."""

    machines: tuple[Machine, ...]
    _known: dict[str, Reach] = field(default_factory=dict)
    _judged: dict[Hashable, Any] = field(default_factory=dict)

    def of(self, spec: Spec) -> Reach:
        """What a pod of this spec reaches."""
        key = terms(spec)
        if key not in self._known:
            self._known[key] = self._look(spec)
        return self._known[key]

    def once(self, key: Hashable, judge: Callable[[], T]) -> T:
        """What was judged of the same case before, else what is judged now."""
        if key not in self._judged:
            self._judged[key] = judge()
        found: T = self._judged[key]
        return found

    def _look(self, spec: Spec) -> Reach:
        matching = tuple(machine for machine in self.machines if _matches(spec, machine))
        tolerations = _mappings(spec.get("tolerations"))
        usable = (m for m in matching if m.open and _tolerates(tolerations, m.taints))
        return Reach(matching, tuple(usable))


def terms(spec: Spec) -> str:
    """A pod's terms in one spelling."""
    found = (spec.get("nodeSelector"), _required(spec), spec.get("tolerations"))
    return json.dumps(found, sort_keys=True, default=str)


def room(nodes: Listing, listing: Listing) -> Room:
    """Count what is free: what nodes offer, less what the pods on them ask for."""
    found = {item["metadata"]["name"]: _machine(item) for item in nodes.items}
    for item in listing.items:
        spec = item.get("spec", {})
        machine = found.get(spec.get("nodeName", ""))
        if machine is None or item.get("status", {}).get("phase") in pods.ENDED:
            continue
        taken = need(spec)
        for name, count in taken.devices.items():
            machine.free[name] -= count
        machine.free_cpu -= taken.cpu_milli
        machine.free_memory -= taken.memory_mib
    return Room(tuple(found.values()))


def _machine(item: Manifest) -> Machine:
    offer = item.get("status", {}).get("allocatable", {})
    devices = placing.devices(item)
    cpu, memory = (
        quantities.milli(offer.get("cpu", "0")), quantities.mebibytes(offer.get("memory", "0"))
    )  # fmt: skip
    spec = item.get("spec", {})
    ready = pods.condition(item, "Ready").get("status", "True") == "True"
    return Machine(
        name=item["metadata"]["name"], labels=item["metadata"].get("labels") or {},
        taints=_mappings(spec.get("taints")), open=ready and not spec.get("unschedulable"),
        offers=devices, cpu_milli=cpu, memory_mib=memory, free=defaultdict(int, devices),
        free_cpu=cpu, free_memory=memory,
    )  # fmt: skip


def need(spec: Spec) -> Need:
    """What a pod asks for."""
    amounts = pods.requests(spec)
    return Need(
        devices={
            name: quantities.devices(value)
            for name, value in amounts.items()
            if placing.is_device(name) and quantities.devices(value)
        },
        cpu_milli=quantities.milli(amounts.get("cpu", "0")),
        memory_mib=quantities.mebibytes(amounts.get("memory", "0")),
    )


def _mappings(found: object) -> list[Mapping[str, Any]]:
    """The objects of a list that may be anything."""
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _required(spec: Spec) -> Any:
    affinity = spec.get("affinity")
    of_nodes = affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None
    if not isinstance(of_nodes, Mapping):
        return None
    return of_nodes.get("requiredDuringSchedulingIgnoredDuringExecution")


def _matches(spec: Spec, machine: Machine) -> bool:
    selector = spec.get("nodeSelector") or {}
    if any(machine.labels.get(key) != value for key, value in selector.items()):
        return False
    required = _required(spec)
    if not isinstance(required, Mapping):
        return True
    terms = _mappings(required.get("nodeSelectorTerms"))
    return any(_meets(term, machine) for term in terms)


def _meets(term: Mapping[str, Any], machine: Machine) -> bool:
    """Whether a node meets every line of a term; an empty term meets none."""
    by_label = _mappings(term.get("matchExpressions"))
    by_field = _mappings(term.get("matchFields"))
    fields = {"metadata.name": machine.name}
    return bool(by_label or by_field) and all(
        [
            *(_holds(line, machine.labels) for line in by_label),
            *(_holds(line, fields) for line in by_field),
        ]
    )


def _holds(line: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(str(line.get("key", "")))
    values = [str(one) for one in line.get("values") or []]
    match line.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as sign:
            return _compares(value, values, sign)
        case _:
            return False


def _compares(value: str | None, values: Sequence[str], sign: str) -> bool:
    """Whether a label is a number above or below the one asked for."""
    texts = [value or "", *values]
    if len(texts) != 2 or not all(_WHOLE.fullmatch(text) for text in texts):
        return False
    ours, theirs = (int(text) for text in texts)
    return ours > theirs if sign == "Gt" else ours < theirs


def _tolerates(
    tolerations: Iterable[Mapping[str, Any]], taints: Iterable[Mapping[str, Any]]
) -> bool:
    given = list(tolerations)
    return all(
        any(_covers(toleration, taint) for toleration in given)
        for taint in taints
        if taint.get("effect") in KEEPS_AWAY
    )


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint.get("key"))
    return key == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")
