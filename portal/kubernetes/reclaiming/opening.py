"""Stops opened by the newest tick's victims, and closed once nothing is left to do for them."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from portal.common import audit
from portal.inventory.models import Cluster
from portal.kubernetes.models import Ask, Stop, StopState, Verb
from portal.scheduling import naming
from portal.scheduling.models import Standing, Tick
from portal.scheduling.models import Verb as Said
from portal.workloads.models import OPEN_STATES, Admission, Pod, Workload

PARTS = (Verb.SHRINK, Verb.EVICT, Verb.DELETE)


def victims(cluster: Cluster) -> list[Standing]:
    """What the newest tick says of the jobs that make room."""
    rows = Standing.objects.filter(
        workload__cluster=cluster, workload__state__in=OPEN_STATES, verb=Said.PREEMPT
    )
    return list(rows.select_related("workload").order_by("workload_id"))


def settle(cluster: Cluster, tick: Tick, now: datetime) -> None:
    """Close what is done or not needed any more, then open what the tick newly wants."""
    wanted = {row.workload_id: row for row in victims(cluster)}
    opened = Stop.objects.filter(workload__cluster=cluster, closed_at__isnull=True)
    for stop in opened.select_related("workload").order_by("id"):
        state = _outcome(stop, tick, stop.workload_id in wanted)
        if state is not None:
            _close(stop, state, now)
    still = set(
        Stop.objects.filter(workload_id__in=wanted, closed_at__isnull=True).values_list(
            "workload_id", flat=True
        )
    )
    for workload_id, row in wanted.items():
        holds = pods(row.workload).exists() or _may_run(row.workload)
        if workload_id not in still and holds:
            _open(row, tick, now)


def _may_run(workload: Workload) -> bool:
    """Whether a job may have pods any moment."""
    return Admission.objects.filter(workload=workload, ended_at__isnull=True).exists()


def pods(workload: Workload) -> QuerySet[Pod]:
    """The pods of a job that hold devices, or may any moment; newest first."""
    rows = Pod.objects.filter(workload=workload, closed_at__isnull=True)
    return rows.order_by("-scheduled_at", "-id")


def members(stop: Stop) -> QuerySet[Pod]:
    """The pods a stop is about: not those the cluster makes in their place.

    A cluster tells whole seconds, and makes a pod anew within the second its last one was evicted.
    """
    return pods(stop.workload).filter(created_at__lt=stop.opened_at.replace(microsecond=0))


def was_accepted(stop: Stop, *verbs: Verb) -> bool:
    """Whether the cluster took one of these since the stop was opened."""
    asked = Ask.objects.filter(workload=stop.workload, answer="", at__gte=stop.opened_at)
    return asked.filter(verb__in=verbs).exists()


def _outcome(stop: Stop, tick: Tick, is_wanted: bool) -> StopState | None:
    """How a stop has ended; None while it has not."""
    left = members(stop)
    if not left.exists() and not _may_run(stop.workload):
        return StopState.GONE
    leaving = left.filter(stopping_at__isnull=False).exists()
    # A part is gone when what was asked is, and a later tick has seen it.
    was_seen = stop.tasks is not None and tick.pk > stop.tick_id and not leaving
    if was_seen and was_accepted(stop, *PARTS):
        return StopState.GONE
    asked = was_accepted(stop, Verb.SUSPEND, *PARTS)
    return None if is_wanted or leaving or asked else StopState.DROPPED


@transaction.atomic
def _open(row: Standing, tick: Tick, now: datetime) -> None:
    other = naming.row_id(str(row.detail.get("for", "")), "w")
    made_for = Workload.objects.filter(pk=other or 0).first()
    tasks = row.detail.get("tasks")
    Stop.objects.create(
        workload=row.workload, made_for=made_for, tick_id=tick.pk, why=row.reason, tasks=tasks,
        opened_at=now,
    )  # fmt: skip
    audit.record(
        actor_id=None, action="kubernetes.stop_opened", target_type="workload",
        target_id=row.workload_id, team_id=row.workload.team_id,
        data={"for": other, "why": row.reason, "tasks": tasks, "tick": tick.pk},
    )  # fmt: skip


@transaction.atomic
def _close(stop: Stop, state: StopState, now: datetime) -> None:
    Stop.objects.filter(pk=stop.pk).update(state=state, closed_at=max(now, stop.opened_at))
    audit.record(
        actor_id=None, action="kubernetes.stop_closed", target_type="workload",
        target_id=stop.workload_id, team_id=stop.workload.team_id,
        data={"state": state.value, "opened_at": stop.opened_at.isoformat()},
    )  # fmt: skip
