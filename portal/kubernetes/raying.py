"""Ray clusters: pods wanted against pods there, and GPUs of a pod against what Ray was told.

A raylet learns how many GPUs it has when it starts: from `num-gpus` of `rayStartParams`, else from
the limit of the pod's first container whose resource ends in "gpu". Nothing corrects it later, so a
pod whose devices are others runs with a wrong count until it is made anew.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from portal.kubernetes import owning, placing, pods, quantities
from portal.kubernetes.models import RayGroup
from portal.kubernetes.port import Manifest

CLUSTER, GROUP, NODE_TYPE = "ray.io/cluster", "ray.io/group", "ray.io/node-type"
HEAD = "headgroup"
TOLD = re.compile(r"--num-gpus[= ]\"?(?P<count>[0-9]{1,6})")
FIGURES = ("desired", "available", "pod_gpus", "ray_gpus")
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """The head or a worker group of a Ray cluster, as a look found it; GPUs are those of a pod."""

    uid: str
    namespace: str
    name: str
    group: str
    desired: int
    available: int
    pod_gpus: int
    ray_gpus: int

    @property
    def matters(self) -> bool:
        """Whether it has, or says it has, devices."""
        return bool(self.pod_gpus or self.ray_gpus)


def groups(owners: Iterable[Manifest], listing: Iterable[Manifest]) -> list[SeenGroup]:
    """The groups with devices of every Ray cluster that is listed.

    Where a reader keeps no commands of pods, the group's description tells what Ray was started
    with.
    """
    members: dict[tuple[str, str, str], list[Manifest]] = defaultdict(list)
    for item in listing:
        labels = item["metadata"].get("labels") or {}
        if CLUSTER in labels:
            group = HEAD if labels.get(NODE_TYPE) == "head" else str(labels.get(GROUP, ""))
            key = (str(item["metadata"].get("namespace", "")), str(labels[CLUSTER]), group)
            members[key].append(item)
    return [
        group
        for owner in owners
        if owner.get("kind") == "RayCluster"
        for group in _groups(owner, members)
        if group.matters
    ]


def _groups(
    owner: Manifest, members: Mapping[tuple[str, str, str], Sequence[Manifest]]
) -> Iterator[SeenGroup]:
    metadata, spec = owner["metadata"], owner.get("spec") or {}
    resting = bool(spec.get("suspend"))
    for name, wanted, part in _parts(spec):
        place = (str(metadata.get("namespace", "")), str(metadata["name"]), name)
        there = [pod for pod in members.get(place, ()) if _is_live(pod)]
        pod_gpus, ray_gpus = _gpus(part, there)
        yield SeenGroup(
            uid=str(metadata["uid"]), namespace=place[0], name=place[1][:253], group=name[:63],
            desired=0 if resting else min(wanted, quantities.MOST_TASKS),
            available=sum(pods.condition(pod, "Ready").get("status") == "True" for pod in there),
            pod_gpus=pod_gpus, ray_gpus=ray_gpus,
        )  # fmt: skip


def _parts(spec: Spec) -> Iterator[tuple[str, int, Spec]]:
    """Name, wanted pods and description of the head and of each worker group."""
    yield HEAD, 1, spec.get("headGroupSpec") or {}
    for group in spec.get("workerGroupSpecs") or []:
        count = 0 if group.get("suspend") else owning.workers(group)
        hosts = int(group.get("numOfHosts") or 1)
        yield str(group.get("groupName", "")), count * hosts, group


def _is_live(pod: Manifest) -> bool:
    ended = pod.get("status", {}).get("phase") in pods.ENDED
    return not (ended or pod["metadata"].get("deletionTimestamp"))


def _gpus(part: Spec, there: Sequence[Manifest]) -> tuple[int, int]:
    """Devices of a pod and what Ray has of them; of unequal pods one where the two differ."""
    template = (part.get("template") or {}).get("spec") or {}
    found = [(_devices(pod["spec"]), _started_with(pod["spec"], part)) for pod in there]
    found = found or [(_devices(template), _described(part, template))]
    return next((pair for pair in found if pair[0] != pair[1]), found[0])


def _described(part: Spec, spec: Spec) -> int:
    """What the group's description tells Ray."""
    told = str((part.get("rayStartParams") or {}).get("num-gpus", ""))
    if told.isascii() and told.isdigit():
        return min(int(told), quantities.MOST_DEVICES)
    return _limit(spec)


def _devices(spec: Spec) -> int:
    """Whole devices of a pod."""
    amounts = pods.requests(spec).items()
    found = sum(quantities.devices(value) for name, value in amounts if placing.is_device(name))
    return min(found, quantities.MOST_DEVICES)


def _started_with(spec: Spec, part: Spec) -> int:
    """The GPUs a pod's Ray was started with: as its command says, else as its group is described."""
    first: Spec = next(iter(spec.get("containers") or []), {})
    words = " ".join(str(word) for word in [*first.get("command", []), *first.get("args", [])])
    told = TOLD.search(words)
    if told:
        return int(told["count"])
    return _limit(spec) if words else _described(part, spec)


def _limit(spec: Spec) -> int:
    """What Ray's operator reads from the first container where nobody says a number."""
    first: Spec = next(iter(spec.get("containers") or []), {})
    limits = (first.get("resources") or {}).get("limits") or {}
    return next((quantities.devices(v) for k, v in limits.items() if k.endswith("gpu")), 0)


@transaction.atomic
def follow(
    *,
    cluster_id: int,
    seen: Sequence[SeenGroup],
    now: datetime,
    of_uids: Collection[str] | None = None,
) -> int:
    """Bring the rows in step with what was seen; gives how many changed.

    With `of_uids` only those Ray clusters were looked at, and the others stay as they are.
    """
    rows = RayGroup.objects.filter(cluster_id=cluster_id)
    if of_uids is not None:
        rows = rows.filter(uid__in=of_uids)
    known = {(row.uid, row.group): row for row in rows}
    changed = 0
    for group in {(one.uid, one.group): one for one in seen}.values():
        row = known.pop((group.uid, group.group), None)
        figures = {name: getattr(group, name) for name in FIGURES}
        if row is None:
            RayGroup.objects.create(
                cluster_id=cluster_id, uid=group.uid, namespace=group.namespace, name=group.name,
                group=group.group, since=now, **figures,
            )  # fmt: skip
        elif any(getattr(row, name) != value for name, value in figures.items()):
            RayGroup.objects.filter(pk=row.pk).update(since=now, **figures)
        else:
            continue
        changed += 1
    gone = [row.pk for row in known.values()]
    RayGroup.objects.filter(pk__in=gone).delete()
    return changed + len(gone)
