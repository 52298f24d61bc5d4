"""Jobs that were let start: what they may hold from that instant on, whether their pods do or not."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Count

from portal.common import audit
from portal.workloads.models import OPEN_STATES, Admission, Pod, Workload

PREEMPTED, OVER, NOT_STARTED, SUSPENDED, REFUSED = (
    "preempted", "over", "not_started", "suspended", "refused",
)  # fmt: skip
Placement = tuple[str, int]
"""A node and how many tasks of the job it takes."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """An open admission: so many tasks of a job may be on these nodes since `at`.

    `done` says how many of them have run to their end since, by node.
    """

    id: int
    workload_id: int
    placements: tuple[Placement, ...]
    at: datetime
    done: Mapping[str, int] = field(default_factory=dict)


def list_open(*, cluster_id: int) -> list[Admitted]:
    """Every open admission of a cluster's open jobs, oldest first."""
    rows = Admission.objects.filter(
        workload__cluster_id=cluster_id, workload__state__in=OPEN_STATES, ended_at__isnull=True
    ).order_by("id")
    found = [
        Admitted(pk, workload_id, tuple((str(node), int(tasks)) for node, tasks in placements), at)
        for pk, workload_id, placements, at in rows.values_list(
            "id", "workload_id", "placements", "at"
        )
    ]
    done = _done(cluster_id, found)
    return [replace(one, done=done[one.workload_id]) for one in found]


def count_holding(*, cluster_id: int) -> dict[int, int]:
    """How many pods of each job with an open admission hold their devices now."""
    holding = Pod.objects.filter(
        workload__cluster_id=cluster_id, workload__admissions__ended_at__isnull=True,
        workload__admissions__isnull=False, closed_at__isnull=True, scheduled_at__isnull=False,
    )  # fmt: skip
    counted = holding.order_by().values_list("workload_id").annotate(pods=Count("pk"))
    return dict(counted)


def _done(cluster_id: int, found: Sequence[Admitted]) -> dict[int, Counter[str]]:
    """How many pods of each job ended well since it was let start, by node; not how many in all."""
    begun = {one.workload_id: one.at for one in found}
    count: dict[int, Counter[str]] = defaultdict(Counter)
    if begun:
        ended = Pod.objects.filter(
            workload__cluster_id=cluster_id, workload__admissions__isnull=False,
            workload__admissions__ended_at__isnull=True, closed_at__gte=min(begun.values()),
            why="", estimated=False,
        )  # fmt: skip
        columns = ("workload_id", "node__name", "closed_at")
        for workload_id, node, closed_at in ended.values_list(*columns):
            since = begun.get(workload_id)
            if since is not None and closed_at is not None and closed_at >= since:
                count[workload_id][node or ""] += 1
    return count


@transaction.atomic
def let_start(
    *,
    workload_id: int,
    pool_id: int,
    tick_id: int,
    placements: Sequence[Placement],
    charged_to: str,
    now: datetime,
) -> Admission | None:
    """Write down that a job may start; None when it may already, or this tick has said so before.

    A job starts once for each tick that says so: a writer that comes late gives nothing twice.
    """
    workload = Workload.objects.select_for_update(no_key=True).get(pk=workload_id)
    before = Admission.objects.filter(workload=workload)
    if (
        before.filter(ended_at__isnull=True).exists()
        or before.filter(tick_id__gte=tick_id).exists()
    ):
        return None
    row = Admission.objects.create(
        workload=workload, pool_id=pool_id, tick_id=tick_id, charged_to=charged_to, at=now,
        tasks=sum(tasks for _node, tasks in placements),
        placements=[[node, tasks] for node, tasks in placements],
    )  # fmt: skip
    audit.record(
        actor_id=None, action="workloads.admitted", target_type="workload", target_id=workload_id,
        team_id=workload.team_id,
        data={"tick": tick_id, "tasks": row.tasks, "charged_to": charged_to, "pool": pool_id},
    )  # fmt: skip
    return row


@transaction.atomic
def end(*, workload_id: int, why: str, now: datetime) -> bool:
    """A job may hold nothing any more, or never did; tells whether it might until now."""
    row = Admission.objects.filter(workload_id=workload_id, ended_at__isnull=True).first()
    if row is None:
        return False
    ended = Admission.objects.filter(pk=row.pk, ended_at__isnull=True)
    if not ended.update(ended_at=max(now, row.at), why=why):
        return False
    if why != OVER:
        audit.record(
            actor_id=None, action="workloads.admission_ended", target_type="workload",
            target_id=workload_id, team_id=row.workload.team_id,
            data={"tick": row.tick_id, "why": why},
        )  # fmt: skip
    return True


@transaction.atomic
def end_of_closed(*, cluster_id: int, now: datetime) -> int:
    """Close the admissions of jobs that are over; gives how many."""
    rows = Admission.objects.filter(workload__cluster_id=cluster_id, ended_at__isnull=True)
    return rows.exclude(workload__state__in=OPEN_STATES).update(ended_at=now, why=OVER)
