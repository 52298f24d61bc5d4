"""What became of a request, step by step to the bill.

Its reservation or quota, what of the pool is promised by it, what was written to the cluster for it,
the work in it, what that used, and where it is billed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Sum

from portal.common.errors import Missing
from portal.finance.models import StatementLine
from portal.inventory.models import Commitment, CommitmentKind, NamespaceOwner
from portal.kubernetes.manifests import guaranteed_class
from portal.kubernetes.models import SyncWrite
from portal.quotas import selectors as quotas
from portal.quotas.selectors import QuotaRow
from portal.requests.models import Request
from portal.reservations import selectors as reservations
from portal.reservations.selectors import ReservationRow
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload

MOST_NAMED = 10
MOST_WRITES = 6
SET_BACK_WITHIN = timedelta(hours=1)
"""How long after its end a guarantee is set back at the latest, by a cluster that is reached."""


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
class Promise:
    """What of the pool is promised by it; `ends_at` None has no end yet."""

    gpus: int
    adds: bool
    starts_at: datetime
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class Written:
    """The team's guarantee in a namespace of the cluster, as it was changed while this held."""

    run_id: int
    at: datetime
    namespace: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Line:
    """The line from asking to bill; empty where it has not come so far."""

    reservation: ReservationRow | None = None
    quota: QuotaRow | None = None
    promise: Promise | None = None
    written: tuple[Written, ...] = ()
    jobs: tuple[Job, ...] = ()
    more_jobs: int = 0
    pods: int = 0
    gpu_milli_seconds: int = 0
    billed: tuple[Billed, ...] = ()


def get_line(*, request: Request) -> Line:
    """Follow the ids onward: at most eight queries, however much became of it."""
    reservation = _reservation(request.reservation_id or request.about_id)
    if reservation is None:
        quota = _quota(request)
        if quota is None:
            return Line()
        return Line(
            quota=quota,
            promise=_promise(CommitmentKind.QUOTA, quota.id),
            written=_written(request, quota.valid_from, quota.valid_to),
        )
    rows = Workload.objects.filter(reservation_id=reservation.id).order_by("id")
    counted = rows.aggregate(jobs=Count("pk", distinct=True), pods=Count("pods"))
    return Line(
        reservation=reservation,
        promise=_promise(CommitmentKind.RESERVATION, reservation.id),
        written=_written(request, reservation.starts_at, reservation.ends_at),
        jobs=tuple(Job(w.pk, w.name, w.get_state_display()) for w in rows[:MOST_NAMED]),
        more_jobs=max(0, counted["jobs"] - MOST_NAMED),
        pods=counted["pods"],
        gpu_milli_seconds=_used(reservation.id),
        billed=tuple(_billed(reservation.id)),
    )


def _promise(kind: CommitmentKind, source_id: int) -> Promise | None:
    row = Commitment.objects.filter(kind=kind, source_id=source_id).first()
    return Promise(row.gpus, row.adds, row.starts_at, row.ends_at) if row else None


def _written(request: Request, from_at: datetime, to_at: datetime | None) -> tuple[Written, ...]:
    """Follow the team's quota object of the pool from when it began to hold until it was set back."""
    names = NamespaceOwner.objects.filter(
        team_id=request.team_id, namespace__cluster_id=request.pool.cluster_id
    )
    rows = SyncWrite.objects.filter(
        run__cluster_id=request.pool.cluster_id, run__at__gte=from_at, kind="ResourceQuota",
        name=guaranteed_class(request.pool.name), field__startswith="spec.hard[",
        namespace__in=names.values("namespace__name"),
    )  # fmt: skip
    if to_at is not None:
        rows = rows.filter(run__at__lte=to_at + SET_BACK_WITHIN)
    return tuple(
        Written(w.run_id, w.run.at, w.namespace, str(w.was or "0"), str(w.now or "0"))
        for w in rows.select_related("run").order_by("id")[:MOST_WRITES]
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
