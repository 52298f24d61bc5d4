"""Manifests → what other rooms take: nodes for `inventory`, jobs with their pods for `workloads`.

Pure. Identity is the uid of the root owner; a pod without one is its own workload. Jobs and pods
that ask for no device are nobody's business here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from math import gcd
from typing import Any

from portal.inventory.services import SeenNode
from portal.kubernetes import pending, placing, pods, quantities, reach, terms
from portal.kubernetes.owning import Families
from portal.kubernetes.port import POOL, ClusterPort, Listing, Manifest
from portal.kubernetes.times import moment
from portal.workloads.models import WorkloadState
from portal.workloads.seen import SeenPod, SeenWorkload

ENDINGS = {"Complete": WorkloadState.SUCCEEDED, "Failed": WorkloadState.FAILED}


@dataclass(frozen=True, slots=True)
class Read:
    """Everything one look at a cluster gave; `version` is what the next look asks from."""

    nodes: Listing
    owners: Listing
    pods: Listing
    events: Listing
    version: str


def read(port: ClusterPort, *, since: str) -> Read:
    """List everything. Pods come last, so that none is there whose owner was not listed yet."""
    nodes, events = port.nodes(), port.events()
    owners = port.owners(since=since)
    found = port.pods(since=since)
    return Read(nodes=nodes, owners=owners, pods=found, events=events, version=owners.version)


def nodes(listing: Listing, pools: Mapping[str, str]) -> list[SeenNode]:
    """The machines that offer devices; `pools` gives the resource of each pool.

    A machine of a pool counts with that pool's resource alone, whatever else it offers.
    """
    known = set(pools.values())
    return [_node(item, pools) for item in listing.items if _devices(_offer(item), known)]


def _offer(item: Manifest) -> Mapping[str, Any]:
    found: Mapping[str, Any] = item.get("status", {}).get("allocatable", {})
    return found


def _devices(amounts: Mapping[str, Any], resources: Collection[str]) -> int:
    return sum(quantities.devices(v) for name, v in amounts.items() if name in resources)


def _node(item: Manifest, pools: Mapping[str, str]) -> SeenNode:
    labels = item["metadata"].get("labels", {})
    offer = _offer(item)
    pool = placing.pool_of(item)
    ready: Mapping[str, Any] = next(
        (c for c in item.get("status", {}).get("conditions", []) if c.get("type") == "Ready"), {}
    )
    spec = item.get("spec", {})
    return SeenNode(
        name=item["metadata"]["name"],
        pool=pool,
        gpus=_devices(offer, [pools[pool]] if pool in pools else pools.values()),
        cpu_milli=quantities.milli(offer.get("cpu", "0")),
        memory_mib=quantities.mebibytes(offer.get("memory", "0")),
        ready=ready.get("status") == "True",
        cordoned=bool(spec.get("unschedulable")),
        labels=dict(labels),
        taints=list(spec.get("taints", [])),
        zone=labels.get("topology.kubernetes.io/zone", ""),
        reason=str(ready.get("reason", "")),
    )


def workloads(
    found: Read, resources: Collection[str], room: reach.Room | None = None
) -> list[SeenWorkload]:
    """Every job with its pods, those that are gone since the last look included.

    Jobs with owners of their own are part of these. What scaled to nothing asks for nothing. The
    `room` on the nodes must be given where the pods that were read are not all there are.
    """
    owners = {item["metadata"]["uid"]: item for item in found.owners.deleted}
    deleted = set(owners)
    owners |= {item["metadata"]["uid"]: item for item in found.owners.items}
    deleted -= {item["metadata"]["uid"] for item in found.owners.items}
    families = Families(owners)
    grouped = _group(found.pods, resources, families)
    refusals = _refusals(found.events, families)
    room = room or reach.room(found.nodes, found.pods)
    seen: list[SeenWorkload] = []
    for uid in filter(families.is_root, owners):
        shape = _shape(families, uid, resources)
        if shape is None or not (shape.replicas or uid in grouped):
            continue
        sight = _Sight(owners[uid], shape, grouped.get(uid, []), refusals.get(uid, ""))
        if uid not in deleted or _end_is_known(sight):
            seen.append(_workload(sight, room, is_deleted=uid in deleted))
            grouped.pop(uid, None)
    return seen + [_orphan(uid, members, room) for uid, members in grouped.items()]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What an owner wants: so many pods, counted in tasks of equal devices."""

    replicas: int
    tasks: int
    devices: int
    template: Mapping[str, Any]


def _shape(families: Families, uid: str, resources: Collection[str]) -> _Shape | None:
    """Gangs of unequal pods are counted in their greatest common unit; None: no devices at all."""

    def devices(template: Mapping[str, Any]) -> int:
        return _devices(pods.requests(template), resources)

    gangs = families.gangs(uid, lambda template: devices(template) > 0)
    if not gangs:
        return None
    unit = gcd(*(devices(gang.template) for gang in gangs))
    total = sum(gang.replicas * devices(gang.template) for gang in gangs)
    replicas = sum(gang.replicas for gang in gangs)
    tasks = max(1, min(total // unit, quantities.MOST_TASKS))
    return _Shape(replicas, tasks, min(unit, quantities.MOST_DEVICES), gangs[0].template)


_Member = tuple[Manifest, SeenPod]


@dataclass(frozen=True, slots=True)
class _Sight:
    """A job's manifest, what it wants, its pods, and why pods of it were refused."""

    owner: Manifest
    shape: _Shape
    members: list[_Member]
    refusal: str


def _end_is_known(sight: _Sight) -> bool:
    """Whether a deleted job tells when: by itself or by its pods. Else it ends at its last sight."""
    return "deletionTimestamp" in sight.owner["metadata"] or any(
        pod.closed_at is not None for _, pod in sight.members
    )


def _group(
    listing: Listing, resources: Collection[str], families: Families
) -> dict[str, list[_Member]]:
    """Device pods by their topmost owner's uid, each once; what is there now beats a last sight."""
    latest: dict[str, tuple[Manifest, bool]] = {}
    for item in listing.deleted:
        latest[item["metadata"]["uid"]] = (item, True)
    for item in listing.items:
        latest[item["metadata"]["uid"]] = (item, False)
    grouped: dict[str, list[_Member]] = defaultdict(list)
    for item, is_deleted in latest.values():
        devices = _devices(pods.requests(item.get("spec", {})), resources)
        if devices:
            pod = pods.seen(item, devices=devices, is_deleted=is_deleted)
            # A deleted one that does not say when it ended does so where it was surely there.
            if pod.closed_at is not None or not is_deleted:
                grouped[families.root_of(item)].append((item, pod))
    return dict(grouped)


def _refusals(events: Listing, families: Families) -> dict[str, str]:
    """The newest refusal of each owner, told by itself or by one below it."""
    newest = sorted(events.items, key=lambda item: str(item.get("lastTimestamp", "")))
    return {
        families.root(str(item["involvedObject"].get("uid", ""))): _words(item.get("message"))
        for item in newest
    }


def _words(said: object) -> str:
    """What an event or a condition says, as far as a column can keep it."""
    return str(said or "").replace("\x00", "")


def _workload(sight: _Sight, room: reach.Room, *, is_deleted: bool) -> SeenWorkload:
    owner, shape = sight.owner, sight.shape
    metadata, template = owner["metadata"], shape.template
    amounts = pods.requests(template)
    members = tuple(pod for _, pod in sight.members)
    ended, ended_at = _ending(owner, members, is_deleted=is_deleted)
    reason = pending.NOTHING
    if ended is None:
        manifests = [item for item, _ in sight.members]
        # The warning outlives the refusal by an hour; it stands while pods are missing.
        missing = sum(pod.closed_at is None for pod in members) < shape.replicas
        refusal = sight.refusal if missing else ""
        reason = pending.why(owner, manifests, refusal, room)
    return SeenWorkload(
        uid=metadata["uid"],
        name=metadata["name"],
        owner_kind=owner.get("kind", "Job"),
        namespace=metadata.get("namespace", ""),
        submitted_at=moment(metadata["creationTimestamp"]),
        version=_version([owner, *(item for item, _ in sight.members)], reason, members, ended_at),
        tasks=shape.tasks,
        gpu_milli=1000 * shape.devices,
        cpu_milli=quantities.milli(amounts.get("cpu", "0")),
        memory_mib=quantities.mebibytes(amounts.get("memory", "0")),
        pods=members,
        pool=(template.get("nodeSelector") or {}).get(POOL, ""),
        ended=ended,
        ended_at=ended_at,
        cluster_reason=reason.word,
        cluster_message=_words(reason.sentence),
        cluster_detail=reason.detail,
        **terms.read(owner, shape.tasks),
    )


def _ending(
    owner: Manifest, members: Iterable[SeenPod], *, is_deleted: bool
) -> tuple[WorkloadState | None, datetime | None]:
    """How and when a job ended. Deleted before its end it was cancelled, once its pods are gone."""
    for condition in owner.get("status", {}).get("conditions", []):
        if condition.get("type") in ENDINGS and condition.get("status") == "True":
            return ENDINGS[condition["type"]], moment(condition["lastTransitionTime"])
    if not is_deleted or any(pod.closed_at is None for pod in members):
        return None, None
    metadata = owner["metadata"]
    asked = moment(metadata.get("deletionTimestamp") or metadata["creationTimestamp"])
    ends = [pod.closed_at for pod in members if pod.closed_at is not None]
    return WorkloadState.CANCELLED, max([asked, *ends])


def _version(
    manifests: Iterable[Manifest],
    reason: pending.Reason,
    members: Iterable[SeenPod],
    ended_at: datetime | None,
) -> str:
    """Changes whenever one of the objects, or what is said of them, does.

    An object that vanished without a word is at the version it was; its end tells them apart.
    """
    marks = sorted(f"{m['metadata']['uid']}@{m['metadata']['resourceVersion']}" for m in manifests)
    marks += sorted(f"{pod.uid} {pod.closed_at}" for pod in members if pod.closed_at)
    marks.append(str(ended_at or ""))
    said = [reason.word, reason.sentence, *(f"{k}={v}" for k, v in sorted(reason.detail.items()))]
    text = "\n".join([*marks, *said]).encode(errors="replace")
    return blake2b(text, digest_size=16).hexdigest()


def _how_ended(whys: set[str]) -> WorkloadState:
    """By why its pods ended, as far as nobody else can tell."""
    if whys - {"", "deleted"}:
        return WorkloadState.FAILED
    return WorkloadState.CANCELLED if "deleted" in whys else WorkloadState.SUCCEEDED


def _orphan(uid: str, members: list[_Member], room: reach.Room) -> SeenWorkload:
    """A bare pod, or the last pods of a job that is gone already."""
    first, pod = members[0]
    bare = first["metadata"]["uid"] == uid
    seen = tuple(pod for _, pod in members)
    ended: WorkloadState | None = None
    ended_at: datetime | None = None
    if all(one.closed_at is not None for one in seen):
        ended = _how_ended({one.why for one in seen})
        ended_at = max(one.closed_at for one in seen if one.closed_at is not None)
    manifests = [item for item, _ in members]
    reason = pending.why(first, manifests, "", room) if ended is None else pending.NOTHING
    return SeenWorkload(
        uid=uid,
        name=first["metadata"]["name"],
        owner_kind="Pod" if bare else "",
        namespace=first["metadata"].get("namespace", ""),
        submitted_at=min(one.created_at for one in seen),
        version=_version(manifests, reason, seen, ended_at),
        tasks=1 if bare else len(seen),
        gpu_milli=pod.gpu_milli,
        cpu_milli=pod.cpu_milli,
        memory_mib=pod.memory_mib,
        pods=seen,
        pool=(first.get("spec", {}).get("nodeSelector") or {}).get(POOL, ""),
        ended=ended,
        ended_at=ended_at,
        cluster_reason=reason.word,
        cluster_message=_words(reason.sentence),
        cluster_detail=reason.detail,
        orphan=not bare,
        **(terms.read(first, 1) if bare else {}),
    )
