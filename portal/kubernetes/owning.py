"""Who owns pods, and how many pods of what size each owner wants. Pure.

Demand is read here and not from pods: a pod over quota is never created, but its owner still says
how many it wants. An owner's own owner speaks for both: a RayJob for its RayCluster, a Deployment
for its ReplicaSets, a JobSet for its Jobs, so that every pod counts for one workload.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal.kubernetes.port import Manifest

Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gang:
    """Equal pods an owner wants: how many, and the spec of one."""

    replicas: int
    template: Spec


def gangs(owner: Manifest) -> list[Gang]:
    """The pods an owner wants when it runs; none for a kind we do not know."""
    wanted = _WANTED.get(str(owner.get("kind", "Job")))
    return list(wanted(owner.get("spec") or {})) if wanted else []


def _pod(template: Spec) -> Spec:
    found: Spec = template.get("spec") or {}
    return found


def _job(spec: Spec) -> Iterator[Gang]:
    """At once no more than `parallelism`, and no more than are still to complete."""
    parallel = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    count = parallel if completions is None else min(parallel, int(completions))
    yield Gang(count, _pod(spec.get("template") or {}))


def _replicas(spec: Spec) -> Iterator[Gang]:
    yield Gang(int(spec.get("replicas", 1)), _pod(spec.get("template") or {}))


def _jobset(spec: Spec) -> Iterator[Gang]:
    for part in spec.get("replicatedJobs") or []:
        for gang in _job((part.get("template") or {}).get("spec") or {}):
            yield Gang(int(part.get("replicas", 1)) * gang.replicas, gang.template)


def _raycluster(spec: Spec) -> Iterator[Gang]:
    yield Gang(1, _pod((spec.get("headGroupSpec") or {}).get("template") or {}))
    for group in spec.get("workerGroupSpecs") or []:
        if not group.get("suspend"):
            count = workers(group) * int(group.get("numOfHosts") or 1)
            yield Gang(count, _pod(group.get("template") or {}))


def workers(group: Spec) -> int:
    """Wanted workers of a group, within the bounds its autoscaler keeps."""
    least = int(group.get("minReplicas") or 0)
    most = group.get("maxReplicas")
    count = int(group.get("replicas") or 0)
    return max(least, count if most is None else min(count, int(most)))


def _rayjob(spec: Spec) -> Iterator[Gang]:
    """A job that selects a cluster which is there already wants none of its own."""
    if not spec.get("clusterSelector"):
        yield from _raycluster(spec.get("rayClusterSpec") or {})


def _trainjob(spec: Spec) -> Iterator[Gang]:
    """What a trainer says of itself; where it leaves that to its runtime, its JobSet tells."""
    trainer = spec.get("trainer") or {}
    resources = trainer.get("resourcesPerNode")
    if resources:
        yield Gang(int(trainer.get("numNodes") or 1), {"containers": [{"resources": resources}]})


_WANTED: dict[str, Callable[[Spec], Iterator[Gang]]] = {
    "Job": _job,
    "ReplicaSet": _replicas,
    "Deployment": _replicas,
    "StatefulSet": _replicas,
    "JobSet": _jobset,
    "RayCluster": _raycluster,
    "RayJob": _rayjob,
    "TrainJob": _trainjob,
}


class Families:
    """Which of the owners that were listed stands at the top, and who is below it."""

    def __init__(self, owners: Mapping[str, Manifest]) -> None:
        self._owners = owners
        self._above = {uid: self.above(item) for uid, item in owners.items()}
        self._below: dict[str, list[str]] = defaultdict(list)
        for uid, above in self._above.items():
            if above in owners:
                self._below[above].append(uid)

    def above(self, item: Manifest) -> str:
        """The uid of an object's controller; one of another namespace is a lie and counts as none."""
        uid = controller_uid(item)
        owner = self._owners.get(uid)
        return uid if owner is None or _namespace(owner) == _namespace(item) else ""

    def root_of(self, item: Manifest) -> str:
        """The topmost owner of a pod; its own uid where it has none."""
        above = self.above(item)
        return self.root(above) if above else str(item["metadata"]["uid"])

    def root(self, uid: str) -> str:
        """The topmost owner that was listed; the asked one where none stands above it."""
        seen = {uid}
        while (above := self._above.get(uid, "")) in self._owners and above not in seen:
            uid = above
            seen.add(uid)
        return uid

    def is_root(self, uid: str) -> bool:
        """Whether nobody that was listed stands above."""
        return self.root(uid) == uid

    def gangs(self, uid: str, has_devices: Callable[[Spec], bool]) -> list[Gang]:
        """The gangs of an owner that ask for devices; its children's where it names none."""
        found = [gang for gang in gangs(self._owners[uid]) if has_devices(gang.template)]
        if found:
            return found
        below: Sequence[str] = self._below.get(uid, ())
        return [gang for child in below for gang in self.gangs(child, has_devices)]


def _namespace(item: Manifest) -> str:
    return str(item["metadata"].get("namespace", ""))


def controller_uid(item: Manifest) -> str:
    """The uid of an object's controller; empty where it has none."""
    for reference in item["metadata"].get("ownerReferences", []):
        if reference.get("controller"):
            return str(reference["uid"])
    return ""
