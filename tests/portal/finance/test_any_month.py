"""Whatever happens in a month, the bill adds up and is what an independent count says.

The count goes over ledger rows one by one with fractions; it shares no code with the bill.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.finance import selectors, services
from portal.finance.models import IdleRule, LineKind, Statement, StatementLine
from portal.finance.services import NewRate
from portal.inventory.models import MaintenanceWindow, NodeOutage, Pool
from portal.reservations.models import Reservation
from portal.teams.models import Organisation
from portal.usage.models import LedgerEntry
from tests import builders
from tests.portal.finance.hand_worked import MONTH_ENDS, MONTH_STARTS, at

pytestmark = pytest.mark.django_db(transaction=False)

HOURS = 10
UNTIL = MONTH_STARTS + timedelta(hours=HOURS)
RATES = {"guaranteed": 1000, "reserved": 950, "borrowed": 700}

seconds = st.integers(-3600, HOURS * 3600)
spans = st.tuples(seconds, st.integers(1, 4 * 3600))
held = st.tuples(
    spans,
    st.sampled_from([None, 0, 1]),
    st.sampled_from(list(RATES)),
    st.integers(0, 2),
    st.sampled_from([125, 500, 1000]),
)


def when(second: int) -> datetime:
    return MONTH_STARTS + timedelta(seconds=second)


@contextmanager
def undone() -> Iterator[None]:
    """Roll back what the block did: the database lets nobody delete a row of the ledger."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    use=st.lists(held, max_size=8),
    reserved=st.lists(st.tuples(spans, st.integers(0, 1), st.integers(1, 9)), max_size=3),
    away=st.lists(st.tuples(spans, st.integers(0, 2), st.booleans()), max_size=3),
    change=st.integers(0, HOURS * 3600),
    currency=st.sampled_from(["KRW", "USD", "KWD"]),
    rule=st.sampled_from(list(IdleRule)),
    price=st.integers(0, 10**11),
)
def test_any_month_adds_up(
    use: list[tuple[tuple[int, int], int | None, str, int, int]],
    reserved: list[tuple[tuple[int, int], int, int]],
    away: list[tuple[tuple[int, int], int, bool]],
    change: int,
    currency: str,
    rule: IdleRule,
    price: int,
) -> None:
    with undone():
        Organisation.objects.create(name="Hangang Labs", currency=currency)
        teams = [builders.a_team("vision"), builders.a_team("speech")]
        pool = builders.a_pool("h100", nodes=3, gpus=4)
        nodes = list(pool.nodes.all())
        builders.a_quota(teams[0], pool, guaranteed=3)
        cards(pool, currency, rule, price, change)
        for (first, length), team, charge, node, milli in use:
            builders.use(
                None if team is None else teams[team], pool, when(first), when(first + length),
                charged_to=charge, node=nodes[node], milli=milli,
            )  # fmt: skip
        for (first, length), team, gpus in reserved:
            row = builders.a_reservation(teams[team], pool, when(first), hours=1, gpus=gpus)
            Reservation.objects.filter(pk=row.pk).update(ends_at=when(first + length))
        for (first, length), node, down in away:
            times = {"starts_at": when(first), "ends_at": when(first + length)}
            if down:
                NodeOutage.objects.create(node=nodes[node], **times)
            else:
                MaintenanceWindow.objects.create(node=nodes[node], **times)
        services.compute_month(month_start=MONTH_STARTS, now=UNTIL)
        found = selectors.get_reconciliation(instant=MONTH_STARTS)
        assert found is not None
        assert found.capacity == found.accounted == 12 * 1000 * HOURS * 3600
        assert found.billed_micro == found.cost_micro == found.statements_micro
        assert found.adds_up == (found.beyond == 0)
        assert billed_use() == counted_use(price, change)
        before = list(StatementLine.objects.order_by("id").values())
        services.compute_month(month_start=MONTH_STARTS, now=UNTIL)
        assert list(StatementLine.objects.order_by("id").values()) == before


def cards(pool: Pool, currency: str, rule: IdleRule, price: int, change: int) -> None:
    """Two cards, the second twice as dear from a whole grid line on."""
    for begins, rate in ((at(-40), price), (when(change // 300 * 300), 2 * price)):
        services.set_rate_card(
            name="Card", currency=currency, valid_from=begins, idle_rule=rule, actor_id=None,
            tax_basis_points=1000, now=UNTIL,
            rates=[NewRate(pool.pk, rate, 1000, 950, 700, 500)],
        )  # fmt: skip


UseKey = tuple[int | None, str, datetime]


def billed_use() -> dict[UseKey, tuple[int, int]]:
    """GPU-milli-seconds and rate by team, charge and stretch, as the statements have it."""
    return {
        (line.statement.team_id, line.charged_to, line.from_at): (
            line.gpu_milli_seconds, line.rate_micro,
        )
        for line in StatementLine.objects.filter(
            kind__in=[LineKind.USE, LineKind.UNOWNED]
        ).select_related("statement")
    }  # fmt: skip


def counted_use(price: int, change: int) -> dict[UseKey, tuple[int, int]]:
    """The same, row by row."""
    cut = when(change // 300 * 300)
    sums: dict[UseKey, int] = defaultdict(int)
    rates: dict[UseKey, int] = {}
    for row in LedgerEntry.objects.filter(from_at__gte=MONTH_STARTS, from_at__lt=UNTIL):
        late = row.from_at >= cut
        charge = row.charged_to if row.team_id else ""
        key = (row.team_id, charge, cut if late else MONTH_STARTS)
        last = min(row.to_at, UNTIL)
        sums[key] += row.gpu_milli * int((last - row.from_at).total_seconds())
        whole = price * (2 if late else 1)
        rates[key] = round(Fraction(whole * RATES.get(charge, 1000), 1000))
    return {key: (quantity, rates[key]) for key, quantity in sums.items()}


@pytest.mark.parametrize("days", [1, 29])
def test_closing_late_or_early_makes_no_difference_to_what_was_used(days: int) -> None:
    Organisation.objects.create(name="Hangang Labs")
    vision, pool = builders.a_team("vision"), builders.a_pool("h100", nodes=1)
    services.set_rate_card(
        name="Card", currency="KRW", valid_from=at(-40), actor_id=None, now=UNTIL,
        rates=[NewRate(pool.pk, 10**9)],
    )  # fmt: skip
    builders.use(vision, pool, at(1), at(1, 5), gpus=3)
    services.close_month(
        month_start=MONTH_STARTS, actor_id=None, now=MONTH_ENDS + timedelta(days=days)
    )
    assert Statement.objects.get(team=vision).total_micro == 15 * 10**9
