"""In any zone, year and currency: months follow one another, lines are what an own sum says.

The sums here go over the ledger second by second with fractions and round by hand.
"""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.finance import selectors, services
from portal.finance.models import Month, RateCard, Statement, StatementLine
from portal.finance.services import Correction, NewRate
from portal.inventory.models import Pool
from portal.teams.models import Organisation, Team
from portal.usage.models import LedgerEntry
from tests import builders
from tests.portal.finance.test_any_month import undone

pytestmark = pytest.mark.django_db(transaction=False)
ZONES = [
    "Asia/Seoul", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
    "America/Santiago", "Africa/Casablanca", "UTC",
]  # fmt: skip
FIRST_MONTHS = [(2024, 2), (2026, 3), (2026, 10), (2027, 12), (2028, 2), (2100, 2)]
CURRENCIES = {"KRW": 0, "USD": 2, "KWD": 3}
TIMES = {"guaranteed": Fraction(1), "borrowed": Fraction(7, 10)}
anywhere = st.one_of(st.integers(-2_400_000, 80_000), st.integers(-30_000, 30_000))
"""In the month before the border, its change of clocks and leap day too, or about the border."""
held = st.tuples(
    anywhere, st.integers(1, 20_000), st.integers(0, 1),
    st.sampled_from(sorted(TIMES)), st.integers(1, 8000),
)  # fmt: skip
prices = st.sampled_from([0, 1, 999_999, 2_495_000, 10**9, 10**12])


def by_hand(milli_seconds: int, rate: int, digits: int) -> int:
    """GPU-time times a rate, rounded once, half to even, in micro-units."""
    step: int = 10 ** (6 - digits)
    return round(Fraction(milli_seconds * rate, 3_600_000 * step)) * step


class Ground:
    """Two teams and a node of 16 GPUs at the border of two months."""

    def __init__(self, zone: str, first: tuple[int, int], currency: str, price: int) -> None:
        Organisation.objects.create(name="Hangang Labs", currency=currency, billing_zone=zone)
        self.teams = [builders.a_team("vision"), builders.a_team("speech")]
        self.pool = builders.a_pool("h100", nodes=1, gpus=64)
        self.pool.nodes.update(first_seen_at=datetime(2020, 1, 1, tzinfo=UTC))
        self.now = datetime(*first, 15, tzinfo=UTC)
        services.set_rate_card(
            name="Card", currency=currency, valid_from=datetime(2021, 1, 1, tzinfo=UTC),
            tax_basis_points=1000, actor_id=None, now=self.now,
            rates=[NewRate(self.pool.pk, price, borrowed_milli=700)],
        )  # fmt: skip
        self.border = selectors.get_month(instant=self.now).ends_at

    def costs_half_from(self, cut: int) -> datetime:
        """Another card from a grid line on, so many cells from the border."""
        changes: datetime = self.border + timedelta(seconds=300 * cut)
        card = RateCard.objects.get()
        services.set_rate_card(
            name="Half", currency=card.currency, valid_from=changes, tax_basis_points=800,
            actor_id=None, now=self.now - timedelta(days=30),
            rates=[NewRate(self.pool.pk, card.rates.get().gpu_hour_micro // 2, borrowed_milli=700)],
        )  # fmt: skip
        return changes

    def use(self, rows: list[tuple[int, int, int, str, int]]) -> None:
        """GPUs held around the border, in seconds from it."""
        for first, length, team, charge, milli in rows:
            begins = self.border + timedelta(seconds=first)
            builders.use(
                self.teams[team], self.pool, begins, begins + timedelta(seconds=length),
                charged_to=charge, milli=milli,
            )  # fmt: skip


def billed(team: Team) -> tuple[int, int]:
    """GPU-time and money of all lines of a team, adjustments among them."""
    sums = StatementLine.objects.filter(
        statement__team=team, statement__superseded_at__isnull=True
    ).aggregate(q=Sum("gpu_milli_seconds"), a=Sum("amount_micro"))
    return sums["q"] or 0, sums["a"] or 0


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    zone=st.sampled_from(ZONES), first=st.sampled_from(FIRST_MONTHS),
    currency=st.sampled_from(sorted(CURRENCIES)), price=prices, rows=st.lists(held, max_size=6),
    cut=st.integers(-20 * 288, 280),
)  # fmt: skip
def test_use_across_a_months_border_is_split_to_the_second_and_priced_once_each(
    zone: str, first: tuple[int, int], currency: str, price: int,
    rows: list[tuple[int, int, int, str, int]], cut: int,
) -> None:  # fmt: skip
    with undone():
        ground = Ground(zone, first, currency, price)
        changes = ground.costs_half_from(cut)
        ground.use(rows)
        ends = ground.border + timedelta(days=1)
        services.close_month(month_start=ground.now, actor_id=None, now=ground.border)
        services.compute_month(month_start=ground.border, now=ends)
        earlier, later = Month.objects.order_by("starts_at")
        year, number = first
        assert earlier.starts_at == datetime(year, number, 1, tzinfo=ZoneInfo(zone))
        after = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=ZoneInfo(zone))
        assert earlier.ends_at == later.starts_at == ground.border == after
        for month, until in ((earlier, earlier.ends_at), (later, ends)):
            stretches = stretches_of(month.starts_at, until, changes, price)
            found = selectors.get_reconciliation(instant=month.starts_at)
            assert found is not None
            seconds = int((until - month.starts_at).total_seconds())
            assert found.capacity == found.accounted == 64_000 * seconds
            assert found.statements_micro == found.cost_micro
            digits = CURRENCIES[currency]
            assert found.cost_micro == sum(
                by_hand(64_000 * int((last - begins).total_seconds()), rate, digits)
                for begins, last, rate in stretches
            )
            assert found.adds_up == (found.beyond == 0)
            assert printed(month) == counted(stretches, digits)


Stretch = tuple[datetime, datetime, int]
UseKey = tuple[int | None, str, datetime]


def stretches_of(
    from_at: datetime, to_at: datetime, changes: datetime, price: int
) -> list[Stretch]:
    """The period cut where the price changes to half."""
    whole = [(from_at, min(to_at, changes), price), (max(from_at, changes), to_at, price // 2)]
    return [(begins, last, rate) for begins, last, rate in whole if begins < last]


def printed(month: Month) -> dict[UseKey, tuple[int, int]]:
    """GPU-time and money of each line of use."""
    return {
        (line.statement.team_id, line.charged_to, line.from_at): (
            line.gpu_milli_seconds, line.amount_micro,
        )
        for line in StatementLine.objects.filter(
            statement__month=month, kind="use"
        ).select_related("statement")
    }  # fmt: skip


def counted(stretches: list[Stretch], digits: int) -> dict[UseKey, tuple[int, int]]:
    """The same from the ledger alone."""
    lines: dict[UseKey, tuple[int, int]] = {}
    for begins, last, rate in stretches:
        sums: dict[tuple[int | None, str], int] = defaultdict(int)
        for row in LedgerEntry.objects.all():
            seconds = (min(row.to_at, last) - max(row.from_at, begins)).total_seconds()
            if seconds > 0:
                sums[row.team_id, row.charged_to] += row.sign * row.gpu_milli * int(seconds)
        for (team_id, charge), amount in sums.items():
            cost = by_hand(amount, round(rate * TIMES[charge]), digits)
            lines[team_id, charge, begins] = amount, cost
    return lines


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    currency=st.sampled_from(sorted(CURRENCIES)), price=prices,
    early=st.lists(held, max_size=4), late=st.lists(held, min_size=1, max_size=4),
)  # fmt: skip
def test_closed_early_and_adjusted_later_comes_to_the_same_as_known_in_time(
    currency: str, price: int, early: list[tuple[int, int, int, str, int]],
    late: list[tuple[int, int, int, str, int]],
) -> None:  # fmt: skip
    answers = []
    for known_in_time in (True, False):
        with undone():
            ground = Ground("Europe/Berlin", (2026, 10), currency, price)
            ground.use(early)
            if known_in_time:
                ground.use(late)
            services.close_month(month_start=ground.now, actor_id=None, now=ground.border)
            if not known_in_time:
                ground.use(late)
            services.compute_month(month_start=ground.border, now=ground.border + timedelta(days=2))
            answers.append([billed(team) for team in ground.teams])
            total = sum(Statement.objects.values_list("total_micro", flat=True))
            answers[-1].append((0, total))
    assert answers[0] == answers[1]


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(held, min_size=1, max_size=4), currency=st.sampled_from(sorted(CURRENCIES)),
    wrong=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 10**12), st.integers(0, 10_000),
                  st.booleans()),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_a_month_adds_up_after_any_corrections(
    rows: list[tuple[int, int, int, str, int]], currency: str,
    wrong: list[tuple[int, int, int, bool]],
) -> None:  # fmt: skip
    with undone():
        ground = Ground("Asia/Seoul", (2026, 10), currency, 2_495_000)
        ground.use(rows)
        services.close_month(month_start=ground.now, actor_id=None, now=ground.border)
        for place, rate, tax, moves in wrong:
            lines = StatementLine.objects.filter(
                statement__superseded_at__isnull=True, statement__team__isnull=False
            ).order_by("id")
            if not lines:
                break
            line = lines[place % len(lines)]
            other = ground.teams[line.statement.team_id == ground.teams[0].pk]
            services.revise_statement(
                statement_id=line.statement_id, reason="Agreed", actor_id=None, now=ground.border,
                corrections=[Correction(line.pk, rate, tax, other.pk if moves else None)],
            )  # fmt: skip
        found = selectors.get_reconciliation(instant=ground.now)
        assert found is not None
        assert found.billed_micro == found.cost_micro == found.statements_micro
        assert found.accounted == found.capacity


def test_a_pool_without_a_price_costs_nothing_in_any_currency(db: None) -> None:
    pool: Pool = builders.a_pool("h100", nodes=1)
    builders.use(
        builders.a_team(), pool, datetime(2026, 10, 5, tzinfo=UTC),
        datetime(2026, 10, 6, tzinfo=UTC), gpus=8,
    )  # fmt: skip
    services.compute_month(
        month_start=datetime(2026, 10, 5, tzinfo=UTC), now=datetime(2026, 10, 7, tzinfo=UTC)
    )
    assert set(Statement.objects.values_list("total_micro", flat=True)) == {0}
