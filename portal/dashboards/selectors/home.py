"""The Home page: my teams now, what comes next, what waits, what it costs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.safestring import SafeString

from portal.common.drawing import Bar
from portal.common.pages import once_a_page
from portal.dashboards import explaining
from portal.dashboards.explaining import Neighbour
from portal.dashboards.selectors import common, promises
from portal.dashboards.selectors.common import Fence, Held, Place, TeamMark
from portal.dashboards.selectors.promises import PromiseRow
from portal.finance import selectors as finance
from portal.finance.selectors import Bill, BudgetRow
from portal.inventory import selectors as inventory
from portal.inventory.selectors import PoolSize
from portal.quotas.models import Quota
from portal.reservations.models import HOLDING, Reservation, ReservationState
from portal.scheduling import selectors as scheduling
from portal.scheduling.selectors import Loan, QueueRow
from portal.teams import permissions
from portal.teams import selectors as teams
from portal.teams.selectors import Access, TeamRow, Tree
from portal.workloads.models import Workload, WorkloadState

PANELS = 3
"""So many teams are shown in full; more become rows of one table."""
NEXT = 5
WAITING = 6


@dataclass(frozen=True, slots=True)
class PoolPanel:
    """One team in one pool: the figures, the picture and what they mean."""

    pool_name: str
    gpu_model: str
    used_milli: int
    guaranteed: int
    reserved: int
    unit: str
    bar: Bar
    sentences: tuple[SafeString, ...]
    short: SafeString


@dataclass(frozen=True, slots=True)
class NextRow:
    """A reservation that is open or to come."""

    id: int
    request_id: int | None
    team_id: int
    pool_name: str
    gpus: int
    starts_at: datetime
    ends_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class TeamPanel:
    """One team of mine."""

    team: TeamRow
    path: str
    pools: tuple[PoolPanel, ...]
    next: tuple[NextRow, ...]
    waiting: tuple[QueueRow, ...]
    waiting_total: int
    bill: Bill | None
    promises: tuple[PromiseRow, ...] = ()
    budgets: tuple[tuple[BudgetRow, str, str], ...] = ()
    """Each with what is spent of it, and how much it is, in words."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """Everything the panels are cut from, read once."""

    pools: dict[int, PoolSize]
    quotas: dict[Place, Quota]
    held: dict[tuple[int | None, int], Held]
    fences: dict[Place, Fence]
    reservations: list[Reservation]
    loans: list[Loan]
    marks: dict[int, TeamMark]


def list_my_teams(access: Access, *, tree: Tree, now: datetime) -> list[TeamRow]:
    """Teams whose work I may see and that have a quota, work or reservations: leaves and others."""
    mine = teams.list_teams(access, roles=permissions.WORK, tree=tree)
    live = {team for team, _ in common.list_quotas(now=now)}
    live |= _waiting_totals().keys()
    return [row for row in mine if row.id in live]


def list_panels(
    access: Access, *, rows: Sequence[TeamRow], tree: Tree, now: datetime, waiting: int = WAITING
) -> list[TeamPanel]:
    """Each team in full; the number of queries does not grow with them."""
    picture = _read(now)
    ids = [row.id for row in rows]
    upcoming = _next(picture)
    totals = _waiting_totals()
    first = _waiting(access, ids, waiting, now)
    bills = _bills(access, ids, now)
    in_full = ids if waiting else []
    kept = promises.list_promises(in_full, tree=tree, now=now)
    budgets = promises.list_team_budgets(access, in_full, now=now)
    return [
        TeamPanel(
            team=row,
            path=tree.path_name(row.id),
            pools=tuple(_pool_panels(row, picture, now)),
            next=tuple(upcoming[row.id][:NEXT]),
            waiting=tuple(first[row.id]),
            waiting_total=totals.get(row.id, 0),
            bill=bills.get(row.id),
            promises=tuple(kept.get(row.id, ())),
            budgets=tuple(
                (one, finance.show_budget(one, one.spent), finance.show_budget(one, one.limit))
                for one in budgets.get(row.id, ())
            ),
        )
        for row in rows
    ]


def _read(now: datetime) -> _Picture:
    reservations = list(
        Reservation.objects.filter(state__in=HOLDING, ends_at__gt=now).order_by("starts_at", "id")
    )
    return _Picture(
        pools={pool.id: pool for pool in inventory.list_pool_sizes(now=now)},
        quotas=common.list_quotas(now=now),
        held=common.list_held(),
        fences=common.sum_fences(r for r in reservations if _is_open(r, now)),
        reservations=reservations,
        loans=scheduling.list_loans(),
        marks=common.team_marks(),
    )


def _pool_panels(row: TeamRow, picture: _Picture, now: datetime) -> Iterable[PoolPanel]:
    for pool_id, pool in picture.pools.items():
        place = (row.id, pool_id)
        held = picture.held.get(place, Held())
        quota, fence = picture.quotas.get(place), picture.fences.get(place, Fence())
        if quota is None and not held.total and not fence.gpus:
            continue
        guaranteed = quota.guaranteed if quota else 0
        limit = quota.limit if quota else None
        yield PoolPanel(
            pool_name=pool.name,
            gpu_model=pool.gpu_model,
            used_milli=held.total,
            guaranteed=guaranteed,
            reserved=fence.added,
            unit=explaining.unit(pool.name, guaranteed, fence.added, limit),
            bar=explaining.pool_bar(
                held=held, fence=fence, guaranteed=guaranteed, limit=limit, hue=row.hue,
                capacity=pool.gpus,
            ),
            sentences=tuple(_sentences(place, guaranteed, picture, now)),
            short=explaining.in_short(
                held, _lenders(place, picture), _borrowers(place, picture)
            ),
        )  # fmt: skip


def _sentences(
    place: Place, guaranteed: int, picture: _Picture, now: datetime
) -> Iterable[SafeString]:
    held, fence = picture.held.get(place, Held()), picture.fences.get(place, Fence())
    borrowers = _borrowers(place, picture)
    lent = sum(b.milli for b in borrowers)
    said = (
        explaining.use(held, guaranteed, _lenders(place, picture), lent),
        explaining.comes_back(held, lent, borrowers),
        explaining.fenced(fence, held, now),
    )
    return (sentence for sentence in said if sentence)


def _lenders(place: Place, picture: _Picture) -> list[Neighbour]:
    """Who lends to this team here, most first; what nobody was promised has no lender.

    Loans are the newest tick's; where less is borrowed by now, the last ones are paid back.
    """
    team_id, pool_id = place
    found = [
        _neighbour(loan.lender_id, loan, picture)
        for loan in picture.loans
        if loan.borrower_id == team_id and loan.pool_id == pool_id and loan.lender_id
    ]
    left = picture.held.get(place, Held()).borrowed
    lenders: list[Neighbour] = []
    for lender in sorted(found, key=lambda n: -n.milli):
        if left > 0:
            lenders.append(replace(lender, milli=min(lender.milli, left)))
            left -= lender.milli
    return lenders


def _borrowers(place: Place, picture: _Picture) -> list[Neighbour]:
    """Who borrows from this team here, most first."""
    found = [
        _neighbour(loan.borrower_id, loan, picture)
        for loan in picture.loans
        if (loan.lender_id, loan.pool_id) == place
    ]
    return sorted(found, key=lambda n: -n.milli)


def _neighbour(team_id: int, loan: Loan, picture: _Picture) -> Neighbour:
    quota = picture.quotas.get((team_id, loan.pool_id))
    return Neighbour(
        name=picture.marks[team_id].name,
        milli=loan.gpu_milli,
        used=picture.held.get((team_id, loan.pool_id), Held()).guaranteed,
        guaranteed=quota.guaranteed if quota else 0,
    )


def _is_open(reservation: Reservation, now: datetime) -> bool:
    return reservation.state == ReservationState.ACTIVE and reservation.starts_at <= now


def _next(picture: _Picture) -> dict[int, list[NextRow]]:
    found: dict[int, list[NextRow]] = defaultdict(list)
    for r in picture.reservations:
        found[r.team_id].append(
            NextRow(
                id=r.pk, request_id=r.request_id, team_id=r.team_id,
                pool_name=picture.pools[r.pool_id].name, gpus=r.gpus, starts_at=r.starts_at,
                ends_at=r.ends_at, state=r.state,
            )
        )  # fmt: skip
    return found


def _waiting(
    access: Access, ids: Collection[int], most: int, now: datetime
) -> dict[int, list[QueueRow]]:
    """The teams' first jobs in the queue, with their sentences."""
    found: dict[int, list[QueueRow]] = defaultdict(list)
    if most and ids:
        jobs = scheduling.list_first_waiting(access, team_ids=ids, most=most)
        zone = timezone.get_current_timezone()
        for row in scheduling.queue_rows(jobs, access, zone=zone, now=now):
            found[row.team_id or 0].append(row)
    return found


def _bills(access: Access, ids: Collection[int], now: datetime) -> dict[int, Bill]:
    if not ids or not access.holds_anywhere(permissions.COST):
        return {}
    found = finance.list_month_to_date(access, now=now)
    return {bill.team_id: bill for bill in found if bill.team_id is not None}


@once_a_page
def _waiting_totals() -> dict[int, int]:
    """Each team with jobs that have not ended, and how many of them wait."""
    rows = Workload.objects.filter(ended_at__isnull=True, team__isnull=False).order_by()
    waiting = Count("id", filter=Q(state=WorkloadState.WAITING))
    return {team: n for team, n in rows.values_list("team_id").annotate(n=waiting) if team}
