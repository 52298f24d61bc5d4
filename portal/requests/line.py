"""What became of a request: its reservation or quota, the work in it, and where it is billed."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import F, Sum

from portal.common.errors import Missing
from portal.finance.models import StatementLine
from portal.quotas import selectors as quotas
from portal.quotas.selectors import QuotaRow
from portal.requests.models import Request
from portal.reservations import selectors as reservations
from portal.reservations.selectors import ReservationRow
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload

MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Job:
    """A workload that ran, runs or waits in the reservation."""

    id: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Billed:
    """What one statement holds of the reservation."""

    statement_id: int
    team: str
    period_starts_at: datetime
    zone: str
    state: str
    currency: str
    amount_micro: int

    @property
    def month(self) -> str:
        """The month it bills, as the billing zone has it."""
        return f"{self.period_starts_at.astimezone(ZoneInfo(self.zone)):%Y-%m}"


@dataclass(frozen=True, slots=True)
class Line:
    """The line from asking to bill; empty where it has not come so far."""

    reservation: ReservationRow | None
    quota: QuotaRow | None
    jobs: tuple[Job, ...]
    more_jobs: int
    gpu_milli_seconds: int
    billed: tuple[Billed, ...]


def get_line(*, request: Request) -> Line:
    """Follow the ids onward."""
    reservation = _reservation(request.reservation_id or request.about_id)
    if reservation is None:
        quota = _quota(request)
        return Line(None, quota, (), 0, 0, ())
    rows = Workload.objects.filter(reservation_id=reservation.id).order_by("id")
    count = rows.count()
    return Line(
        reservation=reservation,
        quota=None,
        jobs=tuple(Job(w.pk, w.name, w.get_state_display()) for w in rows[:MOST_NAMED]),
        more_jobs=max(0, count - MOST_NAMED),
        gpu_milli_seconds=_used(reservation.id),
        billed=tuple(_billed(reservation.id)),
    )


def _reservation(reservation_id: int | None) -> ReservationRow | None:
    if reservation_id is None:
        return None
    try:
        return reservations.get_reservation(reservation_id=reservation_id)
    except Missing:
        return None


def _quota(request: Request) -> QuotaRow | None:
    if request.quota_id is None:
        return None
    history = quotas.list_history(team_id=request.team_id, pool_id=request.pool_id)
    return next((row for row in history if row.id == request.quota_id), None)


def _used(reservation_id: int) -> int:
    """GPU time of the ledger that names the reservation, corrections counted."""
    rows = LedgerEntry.objects.filter(reservation_id=reservation_id)
    total = rows.aggregate(total=Sum(F("gpu_milli") * F("seconds") * F("sign")))["total"]
    return int(total or 0)


def _billed(reservation_id: int) -> list[Billed]:
    lines = StatementLine.objects.filter(
        reservation_id=reservation_id, statement__superseded_at__isnull=True
    ).select_related("statement")
    sums: dict[int, Billed] = {}
    for line in lines.order_by("statement__period_starts_at", "statement_id", "id"):
        statement = line.statement
        before = sums.get(statement.pk)
        sums[statement.pk] = Billed(
            statement_id=statement.pk,
            team=statement.team_name,
            period_starts_at=statement.period_starts_at,
            zone=statement.zone,
            state=statement.get_state_display(),
            currency=statement.currency,
            amount_micro=line.amount_micro + (before.amount_micro if before else 0),
        )
    return list(sums.values())
