"""One object as it is → as it shall be, and the merge patch between the two. Pure.

What Kubernetes 1.36 lets change decides how a job is told its pool and class. The template of a
suspended Job takes a node selector, affinity, annotations and gates, in the very request that lets
it start; it takes no class and no RuntimeClass. Those are named in annotations of the template,
which its pods inherit and the policies of `deploy/kubernetes/admission` turn into fields. The
kinds of Ray take everything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from portal.kubernetes import diff, pods, quantities
from portal.kubernetes.admitting.orders import Orders
from portal.kubernetes.diff import Change
from portal.kubernetes.owning import gangs
from portal.kubernetes.placing import is_device
from portal.kubernetes.port import ADMITTED, CHARGED, FENCE, GATE, POOL, RUNTIME, Manifest

PARALLELISM = "evenshare.io/parallelism"
"""On a Job that runs with fewer tasks: how many it asked for."""
RAY = ("RayCluster", "RayJob")
SUSPENDED = frozenset({"Job", *RAY})
"""Kinds that wait and stop by `suspend`; pods of all others wait by the gate and stop one by one."""
SHRINKS = frozenset({"Job"})
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS, NAME = "nodeSelectorTerms", "metadata.name"
Body = dict[str, Any]


def is_suspended(item: Manifest) -> bool:
    """Whether an object asks for no pods now."""
    return bool(item.get("spec", {}).get("suspend"))


def is_gated(pod: Manifest) -> bool:
    """Whether a pod waits for us."""
    return any(gate.get("name") == GATE for gate in pod.get("spec", {}).get("schedulingGates", []))


def devices(owner: Manifest, resource: str) -> int:
    """Devices of a resource that an owner's pods ask for together."""
    return sum(gang.replicas * _devices(gang.template, resource) for gang in gangs(owner))


def _devices(template: Mapping[str, Any], resource: str) -> int:
    return quantities.devices(pods.requests(template).get(resource, 0))


# -- a job -----------------------------------------------------------------------------------------


def started(item: Manifest, orders: Orders) -> Body:
    """A suspended object that may start: with its pool, nodes, class and isolation."""
    after = deepcopy(dict(item))
    notes = _annotations(after)
    notes[CHARGED] = orders.charged_to
    _shaper(str(item["kind"]))(after, orders)
    after["spec"]["suspend"] = False
    return after


def _start_job(after: Body, orders: Orders) -> None:
    spec = after["spec"]
    if orders.tasks < orders.asked:
        _annotations(after).setdefault(PARALLELISM, str(spec.get("parallelism", 1)))
        spec["parallelism"] = orders.tasks
    template = spec["template"]
    _mark(template, orders)
    _place(template["spec"], orders.pool, [node for node, _tasks in orders.placements])
    _open_gate(template["spec"])


def _mark(template: Body, orders: Orders) -> None:
    """What the pods of a template inherit: proof that it was let start, and as what."""
    notes = _annotations(template)
    notes[ADMITTED] = orders.priority_class
    notes.pop(RUNTIME, None)
    if orders.runtime_class:
        notes[RUNTIME] = orders.runtime_class


def _start_ray(after: Body, orders: Orders) -> None:
    ray = after["spec"] if after["kind"] == "RayCluster" else after["spec"]["rayClusterSpec"]
    groups = [ray.get("headGroupSpec") or {}, *(ray.get("workerGroupSpecs") or [])]
    for template in (group.get("template") for group in groups):
        if not template or not _asks_for_devices(template.get("spec") or {}):
            continue
        _mark(template, orders)
        spec = template["spec"]
        spec["priorityClassName"] = orders.priority_class
        if orders.runtime_class:
            spec["runtimeClassName"] = orders.runtime_class
        _place(spec, orders.pool, [node for node, _tasks in orders.placements])
        _open_gate(spec)


def _shaper(kind: str) -> Callable[[Body, Orders], None]:
    return _start_ray if kind in RAY else _start_job


def _asks_for_devices(spec: Mapping[str, Any]) -> bool:
    return any(is_device(name) for name in pods.requests(spec))


def resumed(item: Manifest) -> Body:
    """A suspended object that goes on as it is."""
    after = deepcopy(dict(item))
    after["spec"]["suspend"] = False
    return after


def stopped(item: Manifest) -> Body:
    """An object that shall have no pods, asking for what it asked for before it was let start."""
    after = deepcopy(dict(item))
    after["spec"]["suspend"] = True
    notes = _annotations(after)
    asked = notes.pop(PARALLELISM, "")
    if asked.isascii() and asked.isdigit():
        after["spec"]["parallelism"] = int(asked)
    notes.pop(CHARGED, None)
    return after


def shrunk(item: Manifest, tasks: int) -> Body:
    """A Job that goes on with so many tasks; the cluster stops the others."""
    after = deepcopy(dict(item))
    _annotations(after).setdefault(PARALLELISM, str(after["spec"].get("parallelism", 1)))
    after["spec"]["parallelism"] = tasks
    return after


# -- a pod -----------------------------------------------------------------------------------------


def ungated(pod: Manifest, orders: Orders, node: str) -> Body:
    """A gated pod that may start on a node."""
    after = deepcopy(dict(pod))
    _annotations(after)[CHARGED] = orders.charged_to
    _place(after["spec"], orders.pool, [node])
    _open_gate(after["spec"])
    return after


def _open_gate(spec: Body) -> None:
    if "schedulingGates" in spec:
        spec["schedulingGates"] = [g for g in spec["schedulingGates"] if g.get("name") != GATE]


def _place(spec: Body, pool: str, nodes: list[str]) -> None:
    """Name the pool, and the nodes within every node affinity term that is there.

    One of a node's names a term: a field selector takes a single value. Names that an earlier
    start left are dropped.
    """
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), POOL: pool}
    required = (
        spec.setdefault("affinity", {}).setdefault("nodeAffinity", {}).setdefault(REQUIRED, {})
    )
    required[TERMS] = [
        {**base, "matchFields": [{"key": NAME, "operator": "In", "values": [node]}]}
        for base in _without_nodes(required.get(TERMS) or [{}])
        for node in nodes
    ]


def _annotations(item: Body) -> dict[str, str]:
    metadata = item.setdefault("metadata", {})
    notes: dict[str, str] = dict(metadata.get("annotations") or {})
    metadata["annotations"] = notes
    return notes


# -- between the two -------------------------------------------------------------------------------


def patch(before: Manifest, after: Mapping[str, Any], *, fence: int) -> Body:
    """The merge patch from one to the other, good only for the version `before` is at."""
    change = _merge(before, after)
    metadata = change.setdefault("metadata", {})
    metadata["uid"] = before["metadata"]["uid"]
    metadata["resourceVersion"] = before["metadata"]["resourceVersion"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), FENCE: str(fence)}
    return change


def _merge(before: Mapping[str, Any], after: Mapping[str, Any]) -> Body:
    change: Body = {key: None for key in before if key not in after}
    for key, value in after.items():
        was = before.get(key)
        if isinstance(value, Mapping) and isinstance(was, Mapping):
            inner = _merge(was, value)
            if inner:
                change[key] = inner
        elif value != was or key not in before:
            change[key] = value
    return change


def changes(before: Manifest, after: Mapping[str, Any]) -> list[Change]:
    """Field by field what differs, from → to; entries of lists by their number, nodes by name."""
    was, now = dict(_leaves(before)), dict(_leaves(after))
    names = [*now, *(path for path in was if path not in now)]
    return [
        Change(diff.spelled(path), was.get(path), now.get(path))
        for path in names
        if was.get(path) != now.get(path)
    ]


def _leaves(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if above[-1:] == (TERMS,) and isinstance(value, list) and any(map(_nodes, value)):
        yield (*above, NAME), [name for term in value for name in _nodes(term)]
        value = [term for term in _without_nodes(value) if term]
        if not value:
            return
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*above, str(key)))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*above, str(number)))
    else:
        yield above, value


def _nodes(term: Any) -> list[str]:
    """The nodes a term of a node affinity names."""
    lines = term.get("matchFields", []) if isinstance(term, Mapping) else []
    return [str(name) for line in lines for name in line.get("values", [])]


def _without_nodes(terms: Iterable[Mapping[str, Any]]) -> list[Body]:
    """What else terms say, each once."""
    bases: list[Body] = []
    for term in terms:
        base = {key: value for key, value in term.items() if key != "matchFields"}
        if base not in bases:
            bases.append(base)
    return bases
