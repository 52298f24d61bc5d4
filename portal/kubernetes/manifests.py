"""Targets → what quota mode writes: priority classes, team labels and quotas. Pure.

In every namespace of a team: one quota a pool for the class within the guarantee, one for the
class beyond it, and one over all device resources of the cluster, so that a resource nobody
promised is limited to 0 rather than to nothing.

Claims of device classes (dynamic resource allocation) are a second way to the same devices, so they
are limited to 0 in the quota over all, under both names a server counts them by. A class that
serves an extended resource is none: the scheduler itself makes its claims, for pods that asked for
the resource, and the server charges those claims too, by both names; they may be as many as the
resource.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal.kubernetes.port import POOL, TEAM, Manifest

GUARANTEED_VALUE, BURST_VALUE = 100_000, 1_000
TOTAL = "evenshare-total"
NO_CLASSES: Mapping[str, Manifest] = {}
NO_CLAIMS: Mapping[str, str] = {}
CLAIMED, IMPLICIT = ".deviceclass.resource.k8s.io/devices", "deviceclass.resource.kubernetes.io/"
LONGEST_CLAIMED, LONGEST_IMPLICIT = 224, 63
"""Longer names of device classes make keys that a server does not take."""


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A pool by name, and the resource its devices are asked for by."""

    name: str
    resource: str


@dataclass(frozen=True, slots=True)
class Target:
    """What one namespace may hold of one pool, in whole devices; `total` binds all classes."""

    guaranteed: int = 0
    burst: int = 0
    total: int = 0


NOTHING = Target()


def guaranteed_class(pool: str) -> str:
    """The class of work within the guarantee; its quota has the same name."""
    return f"evenshare-guaranteed-{pool}"


def burst_class(pool: str) -> str:
    """The class of work beyond it; its quota has the same name."""
    return f"evenshare-burst-{pool}"


def priority_classes(
    pools: Iterable[PoolShape], there: Mapping[str, Manifest] = NO_CLASSES
) -> list[dict[str, Any]]:
    """Two classes a pool. Guaranteed may evict burst; burst evicts nobody."""
    found: list[dict[str, Any]] = []
    for pool in pools:
        for base in (guaranteed_class(pool.name), burst_class(pool.name)):
            value, policy = _kind(base)
            found.append(_class(versions(base, there)[-1], value, policy))
    return found


def versions(base: str, there: Mapping[str, Manifest] = NO_CLASSES) -> list[str]:
    """The classes in use under a name, the one to carry now last.

    Value and policy of a class cannot change. Where the one of this name has others, it gets a
    successor: the same name and -v2, -v3, …
    """
    numbers = {1: base} if base in there else {}
    for name in there:
        head, _, tail = name.rpartition("-v")
        if head == base and tail.isdigit():
            numbers[int(tail)] = name
    fits = [n for n, name in numbers.items() if _is(there[name], *_kind(base))]
    now = max(fits, default=max(numbers, default=0) + 1)
    numbers.setdefault(now, base if now == 1 else f"{base}-v{now}")
    return [numbers[n] for n in sorted(numbers) if n != now] + [numbers[now]]


def _kind(base: str) -> tuple[int, str]:
    """Value and policy of a class by its name."""
    if base.startswith(guaranteed_class("")):
        return GUARANTEED_VALUE, "PreemptLowerPriority"
    return BURST_VALUE, "Never"


def _is(item: Manifest, value: int, policy: str) -> bool:
    return item.get("value") == value and item.get("preemptionPolicy") == policy


def _class(name: str, value: int, policy: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def namespace(name: str, team: str | None) -> dict[str, Any]:
    """A namespace with the label that says whose it is; nobody's has none."""
    metadata: dict[str, Any] = {"name": name}
    if team is not None:
        metadata["labels"] = {TEAM: team}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def node(name: str, pool: str) -> dict[str, Any]:
    """A node with the label that says which pool it is of."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {POOL: pool}}}


def quotas(
    name: str,
    targets: Mapping[str, Target],
    pools: Sequence[PoolShape],
    resources: Iterable[str],
    there: Mapping[str, Manifest] = NO_CLASSES,
    claims: Mapping[str, str] = NO_CLAIMS,
) -> list[dict[str, Any]]:
    """The quotas of one namespace. A pool without a target gets 0; so does every other resource.

    A class's own quotas say 0 for the other resources too, or else a pod of this class could take
    what another pool's devices leave on the same nodes. `claims` names the device classes, each
    with the extended resource it serves or with nothing.
    """
    none = dict.fromkeys(sorted({*resources, *(pool.resource for pool in pools)}), 0)
    total = dict(none)
    found: list[dict[str, Any]] = []
    for pool in pools:
        target = targets.get(pool.name, NOTHING)
        for klass, hard in (
            (guaranteed_class(pool.name), target.guaranteed),
            (burst_class(pool.name), target.burst),
        ):
            amounts = {**none, pool.resource: hard}
            found.append(_quota(name, klass, amounts, versions(klass, there)))
        total[pool.resource] += target.total
    over_all = _quota(name, TOTAL, total)
    over_all["spec"]["hard"] |= _claimed(claims, total)
    found.append(over_all)
    return found


def _claimed(claims: Mapping[str, str], total: Mapping[str, int]) -> dict[str, str]:
    hard: dict[str, str] = {}
    for klass, resource in sorted(claims.items()):
        most = str(total.get(resource, 0))
        if len(klass) <= LONGEST_CLAIMED:
            hard[klass + CLAIMED] = most
        if len(klass) <= LONGEST_IMPLICIT:
            hard[f"requests.{IMPLICIT}{klass}"] = most
    return hard


def _quota(
    namespace: str, name: str, hard: Mapping[str, int], classes: Sequence[str] = ()
) -> dict[str, Any]:
    spec: dict[str, Any] = {"hard": {f"requests.{key}": str(value) for key, value in hard.items()}}
    if classes:
        term = {"scopeName": "PriorityClass", "operator": "In", "values": list(classes)}
        spec["scopeSelector"] = {"matchExpressions": [term]}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
