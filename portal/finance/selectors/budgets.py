"""Budgets: how much of each is used, what is booked, and whether something still fits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from portal.common import money
from portal.common.clock import whole_seconds
from portal.common.errors import Conflict
from portal.finance import periods
from portal.finance.models import (
    Budget,
    BudgetAlert,
    BudgetPeriod,
    LineKind,
    Statement,
    StatementLine,
)
from portal.finance.periods import PeriodOf
from portal.finance.pricing import MILLI_SECONDS_PER_GPU_HOUR
from portal.finance.selectors.forecasts import booked_micro, forecast
from portal.reservations import selectors as reservations
from portal.reservations.models import Reservation, Source
from portal.teams import selectors as teams
from portal.teams.permissions import COST
from portal.teams.selectors import Access, Tree

ALERTS = (75, 90, 100)
_CHARGED = (LineKind.USE, LineKind.RESERVED_UNUSED)


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget and its running period, in micro-units or, `in_time`, in milli-GPU-seconds.

    `booked` is what reservations will still cost in the period; `expected` is what the running
    month is expected to add, in money only.
    """

    id: int
    team_id: int
    team_name: str
    period: BudgetPeriod
    of: PeriodOf
    in_time: bool
    currency: str
    refuses: bool
    limit: int
    spent: int
    booked: int
    expected: int
    alerts: tuple[int, ...]
    valid_from: datetime
    valid_to: datetime | None

    @property
    def left(self) -> int:
        """What is neither spent nor booked; below zero when it is overdrawn."""
        return self.limit - self.spent - self.booked

    @property
    def percent(self) -> int:
        """How much of it is spent, rounded down."""
        return 100 * self.spent // self.limit

    @property
    def tone(self) -> str:
        """How it looks: amber from 75 %, red from 90."""
        return "bad" if self.percent >= 90 else "warn" if self.percent >= 75 else "good"


def list_budgets(
    *, now: datetime, access: Access | None = None, team_ids: Collection[int] | None = None
) -> list[BudgetRow]:
    """Budgets that hold now, of the teams the asker may see the cost of, by team."""
    tree = teams.get_tree(now=now)
    rows = Budget.objects.filter(valid_from__lte=now).filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=now)
    )
    reach = access.teams(COST) if access else None
    if reach is not None:
        rows = rows.filter(team_id__in=reach)
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    budgets = list(rows)
    board = _Board.of(budgets, tree, now)
    return sorted((board.row(budget) for budget in budgets), key=lambda row: row.team_name)


def check_budget(
    *,
    team_id: int,
    amount_micro: int | None,
    gpu_milli_seconds: int,
    starts_at: datetime,
    now: datetime,
) -> None:
    """Refuse what would go beyond a budget of a team, or of one above it, that refuses.

    Raises `Conflict` with the numbers. Only what begins in the budget's running period counts.
    """
    row = teams.get_tree(now=now).get(team_id)
    path = row.path if row else (team_id,)
    for budget in list_budgets(now=now, team_ids=path):
        asked = gpu_milli_seconds if budget.in_time else amount_micro or 0
        if budget.refuses and starts_at < budget.of.ends_at and asked > budget.left:
            raise _beyond(budget, asked)


def _beyond(budget: BudgetRow, asked: int) -> Conflict:
    said = {
        "team": budget.team_name,
        "period": budget.of.name,
        "limit": show(budget, budget.limit),
        "spent": show(budget, budget.spent),
        "booked": show(budget, budget.booked),
        "asked": show(budget, asked),
    }
    return Conflict(
        _(
            "The budget of %(team)s for %(period)s is %(limit)s: %(spent)s are spent and "
            "%(booked)s booked, and this would cost %(asked)s. Ask for less, or have the budget "
            "raised."
        )
        % said,
        code="beyond_budget",
        details={
            "team": budget.team_id, "period": budget.of.name, "limit": budget.limit,
            "spent": budget.spent, "booked": budget.booked, "asked": asked,
            "unit": "gpu_milli_seconds" if budget.in_time else budget.currency,
        },
    )  # fmt: skip


def show(budget: BudgetRow, amount: int) -> str:
    """An amount of a budget with its unit."""
    if budget.in_time:
        return _("%(hours)s GPU-hours") % {"hours": f"{amount / MILLI_SECONDS_PER_GPU_HOUR:,.1f}"}
    return money.show(amount, budget.currency)


@dataclass(frozen=True, slots=True)
class _Sums:
    """What each team spent and booked in one period."""

    of: PeriodOf
    money: Mapping[tuple[int, str], int]
    money_booked: Mapping[int, int]
    time: Mapping[int, int]
    time_booked: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Board:
    """All sums budgets are held against, each read once for every team."""

    tree: Tree
    names: Mapping[int, str]
    sums: Mapping[str, _Sums]
    expected: Mapping[int, int]
    alerts: Mapping[tuple[int, datetime], list[int]]

    @classmethod
    def of(cls, budgets: Sequence[Budget], tree: Tree, now: datetime) -> Self:
        branches = {pk for budget in budgets for pk in _branch(tree, budget.team_id)}
        alerts: dict[tuple[int, datetime], list[int]] = {}
        for alert in BudgetAlert.objects.filter(budget__in=budgets).order_by("percent"):
            alerts.setdefault((alert.budget_id, alert.period_starts_at), []).append(alert.percent)
        in_money = any(budget.amount_micro is not None for budget in budgets)
        ahead = forecast(now=now, team_ids=branches) if in_money else {}
        return cls(
            tree=tree,
            names=teams.team_names(),
            sums={kind: _sums(kind, branches, now) for kind in {b.period for b in budgets}},
            expected={pk: row.expected_micro for pk, row in ahead.items()},
            alerts=alerts,
        )

    def row(self, budget: Budget) -> BudgetRow:
        sums = self.sums[budget.period]
        branch = _branch(self.tree, budget.team_id)
        in_time = budget.gpu_milli_seconds is not None
        if in_time:
            spent = sum(sums.time.get(pk, 0) for pk in branch)
            booked = sum(sums.time_booked.get(pk, 0) for pk in branch)
        else:
            spent = sum(sums.money.get((pk, budget.currency), 0) for pk in branch)
            booked = sum(sums.money_booked.get(pk, 0) for pk in branch)
        return BudgetRow(
            id=budget.pk,
            team_id=budget.team_id,
            team_name=self.tree.path_name(budget.team_id) or self.names[budget.team_id],
            period=BudgetPeriod(budget.period),
            of=sums.of,
            in_time=in_time,
            currency=budget.currency,
            refuses=budget.refuses,
            limit=budget.gpu_milli_seconds or budget.amount_micro or 0,
            spent=spent,
            booked=booked,
            expected=0 if in_time else sum(self.expected.get(pk, 0) for pk in branch),
            alerts=tuple(self.alerts.get((budget.pk, sums.of.starts_at), ())),
            valid_from=budget.valid_from,
            valid_to=budget.valid_to,
        )


def _branch(tree: Tree, team_id: int) -> frozenset[int]:
    return tree.branch(team_id) or frozenset({team_id})


def _sums(kind: str, team_ids: Collection[int], now: datetime) -> _Sums:
    of = periods.period_of(BudgetPeriod(kind), now)
    within = {"period_starts_at__gte": of.starts_at, "period_starts_at__lt": of.ends_at}
    statements = Statement.objects.order_by().filter(
        team_id__in=list(team_ids), superseded_at__isnull=True, **within
    )
    money_sums = statements.values_list("team_id", "currency").annotate(Sum("total_micro"))
    lines = StatementLine.objects.order_by().filter(
        Q(kind__in=_CHARGED) | Q(adjusts__in=_CHARGED), statement__in=statements
    )
    time_sums = lines.values_list("statement__team_id").annotate(Sum("gpu_milli_seconds"))
    return _Sums(
        of=of,
        money={(pk, currency): total for pk, currency, total in money_sums if pk is not None},
        money_booked=booked_micro(team_ids=team_ids, from_at=now, to_at=of.ends_at),
        time={pk: total for pk, total in time_sums if pk is not None},
        time_booked=_time_booked(of, team_ids, now),
    )


def _time_booked(of: PeriodOf, team_ids: Collection[int], now: datetime) -> dict[int, int]:
    rows = Reservation.objects.filter(
        team_id__in=list(team_ids), source=Source.POOL, state__in=reservations.TOOK_PLACE,
        starts_at__lt=of.ends_at, ends_at__gt=now,
    )  # fmt: skip
    sums: dict[int, int] = {}
    for row in rows:
        last, first = min(row.ends_at, of.ends_at), max(row.starts_at, now)
        held = row.gpus * 1000 * (whole_seconds(last) - whole_seconds(first))
        sums[row.team_id] = sums.get(row.team_id, 0) + held
    return sums
