"""The portal's own history as a trace: the `evenshare` format of `scheduler_core.traces`.

What leaves carries opaque names only, as snapshots do: nobody is named in a file that is passed on.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from portal.common import clock
from portal.inventory.models import Node
from portal.scheduling import batches, naming
from portal.workloads.models import HOLDING_STATES, StageEvent, Workload
from scheduler_core import traces

SECOND = timedelta(seconds=1)
Stages = list[tuple[datetime, str]]


class _Row(NamedTuple):
    """The columns of a workload that a trace speaks of."""

    pk: int
    team_id: int | None
    user_id: int | None
    person: str
    kind: str
    priority: int
    preemptible: bool
    submitted_at: datetime
    scheduled_at: datetime | None
    ended_at: datetime | None
    duration_seconds: int | None
    tasks: int
    min_tasks: int | None
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    pool_id: int | None
    save_seconds: int | None
    restore_seconds: int | None


def history(*, cluster_id: int, from_at: datetime, to_at: datetime) -> list[traces.Job]:
    """What was submitted to a cluster in the period, half-open, in order of submission."""
    found = Workload.objects.filter(
        cluster_id=cluster_id, submitted_at__gte=from_at, submitted_at__lt=to_at
    ).order_by("submitted_at", "id")
    rows = [_Row(*row) for row in found.values_list(*_Row._fields)]
    strangers: dict[str, int] = {}
    for row in rows:
        if row.user_id is None and row.person:
            strangers.setdefault(row.person, row.pk)
    ran = _ran({row.pk: row.ended_at for row in rows if row.ended_at is not None})
    return [_job(row, strangers, ran.get(row.pk)) for row in rows]


def nodes(*, cluster_id: int) -> list[traces.Node]:
    """The machines a cluster has now."""
    rows = Node.objects.filter(cluster_id=cluster_id, removed_at__isnull=True, pool__isnull=False)
    return [
        traces.Node(n.name, n.gpus, n.cpu_milli, n.memory_mib, n.pool.gpu_model.name)
        for n in rows.select_related("pool__gpu_model").order_by("pool__position", "name")
    ]


def _job(row: _Row, strangers: Mapping[str, int], ran: int | None) -> traces.Job:
    """One workload. What ended without ever running has nothing to replay: no duration."""
    submitted = clock.whole_seconds(row.submitted_at)
    begun = row.scheduled_at
    return traces.Job(
        id=naming.workload(row.pk),
        submitted_at=submitted,
        duration_seconds=ran,
        gpu_milli=row.gpu_milli,
        tasks=row.tasks,
        cpu_milli=row.cpu_milli,
        memory_mib=row.memory_mib,
        team=naming.team(row.team_id) if row.team_id else "",
        user=_user(row, strangers),
        estimate_seconds=row.duration_seconds,
        waited_seconds=None if begun is None else clock.whole_seconds(begun) - submitted,
        kind=row.kind,
        priority=row.priority,
        preemptible=row.preemptible,
        pool=naming.pool(row.pool_id) if row.pool_id else "",
        min_tasks=row.min_tasks,
        save_seconds=row.save_seconds,
        restore_seconds=row.restore_seconds,
    )


def _user(row: _Row, strangers: Mapping[str, int]) -> str:
    if row.user_id is not None:
        return naming.user(row.user_id)
    return naming.stranger(strangers[row.person]) if row.person else ""


def _ran(ended: Mapping[int, datetime]) -> dict[int, int]:
    """Workload id → seconds it held its GPUs in all, of those that ended and ever did."""
    stages: dict[int, Stages] = defaultdict(list)
    for pks in batches.of(ended):
        events = StageEvent.objects.filter(workload_id__in=pks).order_by("at", "id")
        for workload_id, at, state in events.values_list("workload_id", "at", "state"):
            stages[workload_id].append((at, state))
    ran = {pk: _held(of, ended[pk]) for pk, of in stages.items()}
    return {pk: span // SECOND for pk, span in ran.items() if span}


def _held(stages: Stages, ended_at: datetime) -> timedelta:
    """How long the stages in which GPUs are held lasted together."""
    nexts = [at for at, _ in stages[1:]] + [ended_at]
    spans = (
        max(until - at, timedelta())
        for (at, state), until in zip(stages, nexts, strict=True)
        if state in HOLDING_STATES
    )
    return sum(spans, timedelta())
