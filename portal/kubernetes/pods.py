"""One pod's manifest → `SeenPod`. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from portal.kubernetes import quantities, starting
from portal.kubernetes.port import DEVICES, Manifest
from portal.kubernetes.times import moment, told_moment
from portal.workloads.seen import SeenPod

GUARANTEED = "evenshare-guaranteed-"
WHY = {
    "PreemptionByScheduler": "preempted",
    "DeletionByTaintManager": "node_lost",
    "TerminationByKubelet": "node_lost",
    "DeletionByPodGC": "node_lost",
    "EvictionByEvictionAPI": "evicted",
}
ENDED = ("Succeeded", "Failed")
_INDEX = re.compile(r"[0-9]{1,4}")


def requests(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a pod holds from its start to its end; limits count where no request is said.

    Its containers and sidecars together, or the greediest step of its start if that is more.
    """
    running = _sum(spec.get("containers", []))
    steps = spec.get("initContainers")
    if not steps:
        return running
    sidecars: list[Any] = []
    most: list[dict[str, Any]] = []
    for step in steps:
        most.append(_sum([*sidecars, step]))
        if step.get("restartPolicy") == "Always":
            sidecars.append(step)
    most.append(_sum([*spec.get("containers", []), *sidecars]))
    names = {name for amounts in most for name in amounts}
    return {n: max(quantities.amount(amounts.get(n, 0)) for amounts in most) for n in names}


def _sum(containers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for container in containers:
        resources = container.get("resources") or {}
        wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, value in wanted.items():
            was = total.get(name)
            total[name] = (
                value if was is None else quantities.amount(was) + quantities.amount(value)
            )
    return total


def seen(item: Manifest, *, devices: int, is_deleted: bool) -> SeenPod:
    """A pod as it stands; a deleted one as it last stood, ended where that is known."""
    metadata, spec = item["metadata"], item.get("spec", {})
    amounts = requests(spec)
    scheduled_at = _scheduled_at(item)
    start = starting.times(item)
    return SeenPod(
        uid=metadata["uid"],
        name=metadata["name"],
        node=spec.get("nodeName", ""),
        gpu_milli=1000 * min(devices, quantities.MOST_DEVICES),
        cpu_milli=quantities.milli(amounts.get("cpu", "0")),
        memory_mib=quantities.mebibytes(amounts.get("memory", "0")),
        devices=_told(str((metadata.get("annotations") or {}).get(DEVICES, ""))),
        priority_class=(spec.get("priorityClassName") or "")[:120],
        guaranteed=(spec.get("priorityClassName") or "").startswith(GUARANTEED),
        created_at=moment(metadata["creationTimestamp"]),
        gated=bool(spec.get("schedulingGates")),
        scheduled_at=scheduled_at,
        mounted_at=start.mounted_at,
        initialized_at=start.initialized_at,
        started_at=start.started_at,
        restarts=start.restarts,
        ready_at=_ready_at(item),
        stopping_at=_stopping_at(metadata),
        closed_at=_closed_at(item, scheduled_at, is_deleted=is_deleted),
        why=_why(item),
    )


def _told(text: str) -> tuple[tuple[int, int], ...]:
    """Whole devices the cluster names, each once: `0,3` are the first and the fourth."""
    named = dict.fromkeys(int(index) for index in text.split(",") if _INDEX.fullmatch(index))
    return tuple((index, 1000) for index in named)


def condition(item: Manifest, kind: str) -> Mapping[str, Any]:
    """A condition of the pod; empty when it has none of that type."""
    found: list[Mapping[str, Any]] = item.get("status", {}).get("conditions", [])
    return next((c for c in found if c.get("type") == kind), {})


def _scheduled_at(item: Manifest) -> datetime | None:
    if not item.get("spec", {}).get("nodeName"):
        return None
    told = condition(item, "PodScheduled")
    if told.get("status") == "True":
        return moment(told["lastTransitionTime"])
    return moment(item["metadata"]["creationTimestamp"])


def _states(item: Manifest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for status in item.get("status", {}).get("containerStatuses", []):
        yield from status.get("state", {}).items()


def _ready_at(item: Manifest) -> datetime | None:
    """Since when it is ready; once it ended, since when its containers ran."""
    told = condition(item, "Ready")
    if told.get("status") == "True":
        return moment(told["lastTransitionTime"])
    begun = [state["startedAt"] for kind, state in _states(item) if kind == "terminated"
             and state.get("startedAt")]  # fmt: skip
    return max(map(moment, begun), default=None)


def _stopping_at(metadata: Mapping[str, Any]) -> datetime | None:
    """When it was asked to go; a grace no calendar can hold tells nothing."""
    gone = told_moment(metadata.get("deletionTimestamp"))
    if gone is None:
        return None
    try:
        return gone - timedelta(seconds=int(metadata.get("deletionGracePeriodSeconds") or 0))
    except OverflowError:
        return None


def _closed_at(
    item: Manifest, scheduled_at: datetime | None, *, is_deleted: bool
) -> datetime | None:
    """When its devices were free: its last container's end, else when it was to be gone."""
    ended = item.get("status", {}).get("phase") in ENDED
    if not ended and not is_deleted:
        return None
    ends = [moment(state["finishedAt"]) for kind, state in _states(item) if kind == "terminated"
            and state.get("finishedAt")]  # fmt: skip
    gone = told_moment(item["metadata"].get("deletionTimestamp"))
    if not ends and gone:
        ends = [gone]
    if not ends and ended:
        told = item.get("status", {}).get("conditions", [])
        ends = [moment(c["lastTransitionTime"]) for c in told if c.get("lastTransitionTime")]
    if not ends:
        return None
    return max([*ends, *([scheduled_at] if scheduled_at else [])])


def _why(item: Manifest) -> str:
    """Why it stops or ended; empty while it runs, and when it ended well."""
    told = condition(item, "DisruptionTarget")
    if told.get("status") == "True":
        return WHY.get(str(told.get("reason")), "evicted")
    if item["metadata"].get("deletionTimestamp"):
        return "deleted"
    return "failed" if item.get("status", {}).get("phase") == "Failed" else ""
