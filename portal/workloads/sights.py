"""One sight of one workload, put into its rows: terms, pods, stages."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from portal.workloads import stages
from portal.workloads.lookups import Lookups
from portal.workloads.models import ChargedTo, Pod, StageEvent, Workload, WorkloadState
from portal.workloads.seen import SeenPod, SeenWorkload

PLAIN = (
    "name", "owner_kind", "namespace", "person", "kind", "priority", "tasks", "min_tasks",
    "gpu_milli", "cpu_milli", "memory_mib", "preemptible", "duration_seconds", "save_seconds",
    "restore_seconds", "last_saved_at", "first_step_at", "submitted_at", "cluster_reason",
    "cluster_message", "cluster_detail",
)  # fmt: skip
WORKLOAD_FIELDS = (
    *PLAIN, "team_id", "user_id", "pool_id", "reservation_id", "state", "admitted_at",
    "scheduled_at", "ready_at", "ended_at", "preemptions", "version",
)  # fmt: skip
POD_TIMES = ("scheduled_at", "ready_at", "stopping_at", "closed_at")
START_TIMES = ("mounted_at", "initialized_at", "started_at")
"""Once known they stay: what tells them is gone as soon as the pod restarts or ends."""
POD_FIELDS = (
    *POD_TIMES, *START_TIMES, "gated", "opened_at", "restarts", "node_id", "devices", "why",
    "estimated",
)  # fmt: skip


class Changed(NamedTuple):
    """A row that may have changed, and its columns as they stand in the database."""

    row: Workload | Pod
    was: dict[str, object]


def values_of(row: Workload | Pod, names: Iterable[str]) -> dict[str, object]:
    """These columns of a row."""
    return {name: getattr(row, name) for name in names}


@dataclass(frozen=True, slots=True)
class Sight:
    """A workload's row, what was seen of it, and what was known of its pods and stages."""

    row: Workload
    seen: SeenWorkload
    pods: list[Pod]
    events: list[StageEvent]


@dataclass(slots=True)
class Result:
    """What one sight adds and changes."""

    new_pods: list[Pod] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    events: list[StageEvent] = field(default_factory=list)


def copy_terms(row: Workload, seen: SeenWorkload, found: Lookups) -> None:
    """Copy what the job says of itself; of an orphan only what is not known better."""
    if not (seen.orphan and row.pk):
        for name in PLAIN:
            setattr(row, name, getattr(seen, name))
        row.user_id = found.users.get(seen.person)
        row.pool_id = found.pools.get(seen.pool)
        row.reservation_id = found.reservation_of(seen, row.pool_id)
    row.team_id = found.teams.get(seen.namespace)


def follow(sight: Sight, found: Lookups, now: datetime) -> Result:
    """Put a sight into its row; return what to write."""
    row, seen = sight.row, sight.seen
    result = Result(changed=[Changed(row, values_of(row, WORKLOAD_FIELDS))])
    copy_terms(row, seen, found)
    known = {pod.uid: pod for pod in sight.pods}
    for one in seen.pods:
        pod = known.get(one.uid)
        if pod is None:
            pod = _new_pod(row, one, found, now)
            result.new_pods.append(pod)
            sight.pods.append(pod)
        else:
            result.changed.append(Changed(pod, values_of(pod, POD_FIELDS)))
        _follow_gate(pod, one, now)
        _copy_pod(pod, one, found)
    result.changed += close_unseen(sight.pods, {one.uid for one in seen.pods}, found.seen_until)
    row.pool_id = row.pool_id or _pool_of(seen, found)
    result.events = _follow_stages(sight)
    row.version = seen.version
    return result


def _new_pod(row: Workload, one: SeenPod, found: Lookups, now: datetime) -> Pod:
    return Pod(
        workload=row, uid=one.uid, name=one.name, gpu_milli=one.gpu_milli, cpu_milli=one.cpu_milli,
        memory_mib=one.memory_mib, priority_class=one.priority_class, created_at=one.created_at,
        seen_at=now,
        charged_to=_first_charge(row, one, found),
    )  # fmt: skip


def _first_charge(row: Workload, one: SeenPod, found: Lookups) -> ChargedTo:
    """What a pod counts against until a tick says: its reservation, else what its class claims."""
    if found.is_in_its_time(row.reservation_id, one.scheduled_at or one.created_at):
        return ChargedTo.RESERVED
    return ChargedTo.GUARANTEED if one.guaranteed else ChargedTo.BORROWED


def _follow_gate(pod: Pod, one: SeenPod, now: datetime) -> None:
    """A gate says nothing of when it was opened: it was so by the look that first saw it."""
    if pod.gated and not one.gated:
        pod.opened_at = min(now.replace(microsecond=0), one.scheduled_at or now)
    pod.gated = one.gated


def _copy_pod(pod: Pod, one: SeenPod, found: Lookups) -> None:
    for name in POD_TIMES:
        setattr(pod, name, getattr(one, name))
    for name in START_TIMES:
        setattr(pod, name, getattr(pod, name) or getattr(one, name))
    pod.restarts = max(pod.restarts, one.restarts)
    pod.node_id = found.nodes[one.node][0] if one.node in found.nodes else pod.node_id
    pod.devices = [list(pair) for pair in one.devices]
    pod.why = one.why
    pod.estimated = False


def close_unseen(pods: Iterable[Pod], shown: set[str], until: datetime | None) -> list[Changed]:
    """Close the open pods a look did not show, where they were last seen.

    They were surely there `until` the last time the cluster's rows were in step with it.
    """
    closed: list[Changed] = []
    for pod in pods:
        if pod.closed_at is None and pod.uid not in shown:
            closed.append(Changed(pod, values_of(pod, POD_FIELDS)))
            last = max(pod.seen_at, pod.scheduled_at or pod.seen_at, until or pod.seen_at)
            pod.closed_at = last.replace(microsecond=0)
            pod.estimated = True
    return closed


def _pool_of(seen: SeenWorkload, found: Lookups) -> int | None:
    """Where its pods run, for a job that names no pool."""
    placed = [found.nodes[one.node][1] for one in seen.pods if one.node in found.nodes]
    return placed[-1] if placed else None


def _follow_stages(sight: Sight) -> list[StageEvent]:
    """Set state and stage times; return the events not yet told."""
    row, seen = sight.row, sight.seen
    found = stages.stages(
        submitted_at=row.submitted_at,
        needed=row.min_tasks or row.tasks,
        spans=[_span(pod) for pod in sight.pods],
        ended=seen.ended,
        ended_at=seen.ended_at,
    )
    row.state = found[-1].state
    row.admitted_at = stages.first(found, WorkloadState.ADMITTED) or row.admitted_at
    row.scheduled_at = stages.first(found, WorkloadState.STARTING, WorkloadState.RUNNING)
    row.ready_at = stages.first(found, WorkloadState.RUNNING)
    if row.admitted_at is None:
        row.admitted_at = row.scheduled_at
    row.ended_at = seen.ended_at
    row.preemptions = stages.count_preemptions(found)
    told = {(event.at, event.state) for event in sight.events}
    return [
        StageEvent(workload=row, at=stage.at, state=stage.state, why=stage.why)
        for stage in found
        if (stage.at, stage.state) not in told
    ]


def _span(pod: Pod) -> stages.Span:
    return stages.Span(
        created_at=pod.created_at, scheduled_at=pod.scheduled_at, ready_at=pod.ready_at,
        stopping_at=pod.stopping_at, closed_at=pod.closed_at, why=pod.why, gated=pod.gated,
        opened_at=pod.opened_at,
    )  # fmt: skip
