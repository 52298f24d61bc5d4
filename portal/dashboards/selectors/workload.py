"""One workload: its stages, where it runs, what was decided of it, what it used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db.models import F, Max, Sum
from django.utils import timezone

from portal.common.errors import Missing
from portal.finance.models import Statement
from portal.scheduling import selectors as scheduling
from portal.scheduling.models import Decision
from portal.scheduling.selectors import EventRow, PlacementRow, WorkloadDetail
from portal.teams import permissions
from portal.teams.permissions import UNKNOWN, Unknown
from portal.teams.selectors import Access
from portal.usage.models import LedgerEntry
from portal.workloads import stages
from portal.workloads.models import (
    OPEN_STATES,
    ChargedTo,
    Workload,
    WorkloadState,
)
from portal.workloads.stages import Span, Step


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of a workload's life; `ends_at` None is still under way. A start has its steps."""

    state: str
    starts_at: datetime
    ends_at: datetime | None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often containers began anew where they stood, and how many pods were lost on the way."""

    containers: int
    pods: int


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """GPU-seconds in the ledger by what they were charged to."""

    label: str
    charged_to: str
    gpu_milli_seconds: int

    @property
    def gpu_hours(self) -> Decimal:
        """The same in GPU-hours, exactly as far as two decimals show."""
        return Decimal(self.gpu_milli_seconds) / 3_600_000


@dataclass(frozen=True, slots=True)
class StatementLink:
    """A statement of a month the workload ran in."""

    id: int
    month: str


@dataclass(frozen=True, slots=True)
class WorkloadPage:
    """Everything the page of one workload shows."""

    record: Workload
    detail: WorkloadDetail
    stages: tuple[Stage, ...]
    restarts: Restarts
    charges: tuple[ChargeRow, ...]
    ledger_until: datetime | None
    statements: tuple[StatementLink, ...]
    snapshot_ticks: frozenset[int]


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a workload belongs to; None is work of no team, which only the organisation sees."""
    workload_id = kwargs["workload_id"]
    assert isinstance(workload_id, int)
    known, team_id = scheduling.team_of_workload(workload_id=workload_id)
    return team_id if known else UNKNOWN


def get_workload(access: Access, *, workload_id: int, now: datetime) -> WorkloadPage:
    """One workload with its history. Raises `Missing`."""
    zone = timezone.get_current_timezone()
    detail = scheduling.get_workload(access, workload_id=workload_id, zone=zone, now=now)
    record = scheduling.get_job(workload_id)
    if detail is None or record is None:
        raise Missing
    begun = record.scheduled_at is not None or bool(detail.placements)
    charges, until = _charges(workload_id) if begun else ((), None)
    return WorkloadPage(
        record=record,
        detail=detail,
        stages=_with_steps(stages_of(record, detail.events), detail.placements, record),
        restarts=_restarts(detail.placements),
        charges=charges,
        ledger_until=until,
        statements=tuple(_statements(access, record)),
        snapshot_ticks=frozenset(d.tick_id for d in detail.decisions if d.has_snapshot),
    )


def stages_of(row: Workload, events: Sequence[EventRow]) -> tuple[Stage, ...]:
    """Waiting, starting, running and so on, one after another; a preempted one waits again.

    Cut from what was seen to happen; where nothing was recorded, from the times of the row.
    """
    begun: list[tuple[str, datetime]] = [(WorkloadState.WAITING, row.submitted_at)]
    if events:
        begun += [(event.state, event.at) for event in events if event.at >= row.submitted_at]
    else:
        begun += [
            (name, at)
            for name, at in (
                (WorkloadState.ADMITTED, row.admitted_at),
                (WorkloadState.STARTING, row.scheduled_at),
                (WorkloadState.RUNNING, row.ready_at),
            )
            if at is not None
        ]
    begun = [(state, at) for state, at in begun if state in OPEN_STATES]
    ends = [at for _, at in begun[1:]] + [row.ended_at]
    return tuple(
        Stage(state, at, end)
        for (state, at), end in zip(begun, ends, strict=True)
        if end is None or end > at
    )


LOST = frozenset({"failed", "node_lost", "evicted"})
WAITS_FOR = {
    "cluster_volume": stages.VOLUME, "cluster_init": stages.INIT, "cluster_image": stages.IMAGE,
}  # fmt: skip


def _with_steps(
    found: tuple[Stage, ...], pods: Sequence[PlacementRow], row: Workload
) -> tuple[Stage, ...]:
    """Each start with what it was spent on; the step under way as the cluster names it."""
    spans = [
        Span(
            created_at=pod.created_at, scheduled_at=pod.scheduled_at, mounted_at=pod.mounted_at,
            initialized_at=pod.initialized_at, started_at=pod.started_at,
        )
        for pod in pods
    ]  # fmt: skip
    return tuple(
        replace(stage, steps=_named(stages.steps(stage.starts_at, stage.ends_at, spans), row))
        if stage.state == WorkloadState.STARTING
        else stage
        for stage in found
    )


def _named(steps: tuple[Step, ...], row: Workload) -> tuple[Step, ...]:
    name = WAITS_FOR.get(row.cluster_reason)
    if not steps or steps[-1].ends_at is not None or name is None:
        return steps
    return (*steps[:-1], replace(steps[-1], name=name))


def _restarts(pods: Sequence[PlacementRow]) -> Restarts:
    return Restarts(
        containers=sum(pod.restarts for pod in pods),
        pods=sum(pod.closed_at is not None and pod.why in LOST for pod in pods),
    )


def _charges(workload_id: int) -> tuple[tuple[ChargeRow, ...], datetime | None]:
    """What it used by charge, and until when that is known: one query."""
    entries = LedgerEntry.objects.filter(workload_id=workload_id).order_by()
    sums = list(
        entries.values_list("charged_to").annotate(
            total=Sum(F("sign") * F("gpu_milli") * F("seconds")), last=Max("to_at")
        )
    )
    by_kind = {kind: total for kind, total, _last in sums}
    rows = tuple(
        ChargeRow(str(kind.label), kind.value, by_kind[kind.value])
        for kind in ChargedTo
        if by_kind.get(kind.value)
    )
    return rows, max((last for *_sum, last in sums), default=None)


def _statements(access: Access, row: Workload) -> list[StatementLink]:
    """Statements of the months it ran in, where the asker may see the team's cost."""
    if row.team_id is None or not access.holds(permissions.COST, team_id=row.team_id):
        return []
    if row.scheduled_at is None:
        return []
    found = Statement.objects.filter(team_id=row.team_id, period_ends_at__gt=row.scheduled_at)
    if row.ended_at:
        found = found.filter(period_starts_at__lt=row.ended_at)
    newest: dict[str, StatementLink] = {}
    for statement in found.order_by("period_starts_at", "revision"):
        month = statement.period_starts_at.astimezone(ZoneInfo(statement.zone))
        newest[f"{month:%Y-%m}"] = StatementLink(statement.pk, f"{month:%Y-%m}")
    return list(newest.values())


def get_snapshot(*, workload_id: int, tick_id: int) -> bytes:
    """The engine's input at a tick that decided something of this workload, as JSON.

    Raises `Missing` when there is none, or none any more.
    """
    decided = Decision.objects.filter(workload_id=workload_id, tick_id=tick_id).exists()
    found = scheduling.get_snapshot(tick_id=tick_id) if decided else None
    if found is None:
        raise Missing
    return found
