"""All rows one freeze needs, each kind read once: the number of queries does not depend on them.

Workloads and pods come by the ten thousand, so of them only the columns that count are read, as
plain tuples: a model instance costs twice as much.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from portal.inventory.models import MaintenanceWindow, Node, Pool
from portal.quotas.models import Quota
from portal.reservations.models import HOLDING, Reservation
from portal.scheduling import naming
from portal.scheduling.models import Standing, Verb
from portal.teams import selectors as teams
from portal.teams.selectors import TeamRow
from portal.usage.models import DecayedUse
from portal.workloads import admissions
from portal.workloads.admissions import Admitted
from portal.workloads.models import OPEN_STATES, Pod, Workload

ESTIMATE_WINDOW = timedelta(days=30)
ESTIMATE_ROWS = 5000
ESTIMATE_LEAST = 5
"""How far back, over how many newest jobs, and from how many of one team an estimate is made."""


class WorkloadRow(NamedTuple):
    """The columns of a workload that a snapshot speaks of."""

    pk: int
    team_id: int | None
    user_id: int | None
    person: str
    kind: str
    pool_id: int | None
    reservation_id: int | None
    priority: int
    tasks: int
    min_tasks: int | None
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    preemptible: bool
    duration_seconds: int | None
    save_seconds: int | None
    restore_seconds: int | None
    last_saved_at: datetime | None
    state: str
    submitted_at: datetime


class PodRow(NamedTuple):
    """The columns of a pod that say what it holds."""

    pk: int
    workload_id: int
    node_id: int | None
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    devices: object
    charged_to: str
    created_at: datetime
    scheduled_at: datetime | None
    stopping_at: datetime | None


@dataclass(frozen=True, slots=True)
class Rows:
    """What stands in the database about one cluster at one moment."""

    teams: tuple[TeamRow, ...]
    decayed: dict[int, DecayedUse]
    pools: list[Pool]
    quotas: list[Quota]
    reservations: list[Reservation]
    maintenance: list[MaintenanceWindow]
    nodes: list[Node]
    workloads: list[WorkloadRow]
    pods: list[PodRow]
    preempted_for: dict[int, str]
    """Workload id → the workload the newest decision stops it for."""
    estimates: dict[int, int]
    """Team id → seconds nine in ten of its jobs did not pass."""
    admissions: list[Admitted] = field(default_factory=list)
    """What was let start, whether its pods hold their devices by now or not yet."""


def read(*, cluster_id: int, now: datetime) -> Rows:
    """Read one cluster. Pods before workloads: who starts in between is seen as not counted."""
    of_cluster = Q(pool__cluster_id=cluster_id)
    not_over = Q(valid_to__isnull=True) | Q(valid_to__gt=now)
    pods = open_pods(cluster_id=cluster_id, now=now)
    workloads = open_workloads(cluster_id=cluster_id, now=now)
    return Rows(
        teams=teams.get_tree(now=now).rows,
        decayed={row.team_id: row for row in DecayedUse.objects.all()},
        pools=list(Pool.objects.filter(cluster_id=cluster_id).select_related("gpu_model")),
        quotas=list(Quota.objects.filter(of_cluster & not_over)),
        reservations=list(
            Reservation.objects.filter(of_cluster, state__in=HOLDING, ends_at__gt=now).order_by(
                "id"
            )
        ),
        maintenance=list(
            MaintenanceWindow.objects.filter(
                node__cluster_id=cluster_id, cancelled_at__isnull=True, ends_at__gt=now
            )
        ),
        nodes=list(
            Node.objects.filter(
                of_cluster, cluster_id=cluster_id, removed_at__isnull=True, first_seen_at__lte=now
            ).order_by("pool__position", "pool_id", "name")
        ),
        workloads=workloads,
        pods=pods,
        preempted_for=_preempted_for(cluster_id),
        estimates=estimates(now=now),
        admissions=admissions.list_open(cluster_id=cluster_id),
    )


def open_pods(*, cluster_id: int, now: datetime) -> list[PodRow]:
    """Pods that hold devices."""
    holding = Pod.objects.filter(closed_at__isnull=True, scheduled_at__lte=now)
    of_pods = holding.filter(workload__cluster_id=cluster_id).order_by("id")
    return [PodRow(*row) for row in of_pods.values_list(*PodRow._fields)]


def open_workloads(*, cluster_id: int, now: datetime) -> list[WorkloadRow]:
    """Workloads that are open, or over while pods of theirs still hold devices."""
    holding = Pod.objects.filter(
        workload_id=OuterRef("pk"), closed_at__isnull=True, scheduled_at__lte=now
    )
    rows = Workload.objects.filter(
        Q(state__in=OPEN_STATES) | Exists(holding), cluster_id=cluster_id
    ).order_by("submitted_at", "id")
    return [WorkloadRow(*row) for row in rows.values_list(*WorkloadRow._fields)]


def _preempted_for(cluster_id: int) -> dict[int, str]:
    rows = Standing.objects.filter(workload__cluster_id=cluster_id, verb=Verb.PREEMPT)
    found = rows.values_list("workload_id", "detail")
    return {pk: str(detail.get("for", naming.workload(pk))) for pk, detail in found}


def finished(*, now: datetime) -> QuerySet[Workload]:
    """The teams' jobs that ran and ended lately, the newest first."""
    return Workload.objects.filter(
        team__isnull=False, scheduled_at__isnull=False, ended_at__lte=now,
        ended_at__gt=now - ESTIMATE_WINDOW,
    ).order_by("-ended_at", "-id")  # fmt: skip


def estimates(*, now: datetime) -> dict[int, int]:
    """The p90 (nearest rank) of each team's own durations, from the newest finished jobs."""
    rows = finished(now=now).values_list("team_id", "scheduled_at", "ended_at")
    took: dict[int, list[int]] = defaultdict(list)
    for team_id, begun, ended in rows[:ESTIMATE_ROWS]:
        if begun is not None and ended is not None:
            took[team_id].append(max(0, int((ended - begun) // timedelta(seconds=1))))
    return {
        team_id: sorted(seconds)[-(-9 * len(seconds) // 10) - 1]
        for team_id, seconds in took.items()
        if len(seconds) >= ESTIMATE_LEAST
    }
