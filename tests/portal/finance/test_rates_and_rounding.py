"""Rates over time, what is rounded and when, and how idle time is shared."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.common import money
from portal.common.errors import Conflict, Invalid, Refusal
from portal.common.models import AuditEvent
from portal.finance import pricing, selectors, services
from portal.finance.models import IdleRule, LineKind, RateCard, Statement, StatementLine
from portal.finance.pricing import Price, Stretch
from portal.finance.reckoning import Reckoning, UseKey
from portal.finance.services import NewRate
from portal.reservations.models import Source
from portal.teams.models import Organisation
from tests import builders
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    HOUR,
    MONTH_ENDS,
    MONTH_STARTS,
    WON,
    World,
    at,
    three_days,
)


@pytest.mark.parametrize(
    ("quantity", "rate_micro", "currency", "amount_micro"),
    [
        (HOUR, 12_000 * WON, "KRW", 12_000 * WON),
        (HOUR // 2, 3 * WON, "KRW", 2 * WON),  # 1.5 won to the even 2
        (HOUR // 2, 5 * WON, "KRW", 2 * WON),  # 2.5 won to the even 2
        (1, 12_000 * WON, "KRW", 0),  # a milli-GPU-second: 0.0033 won
        (HOUR, 2_495_000, "USD", 2_500_000),  # 2.495 dollars to the even 2.50
        (HOUR, 2_485_000, "USD", 2_480_000),  # 2.485 dollars to the even 2.48
        (HOUR // 3, 2_490_000, "USD", 830_000),
        (HOUR, 700_500, "KWD", 700_000),  # 0.7005 dinar to the even 0.700
        (HOUR, 701_500, "KWD", 702_000),
        (-HOUR, 12_000 * WON, "KRW", -12_000 * WON),
        (0, 12_000 * WON, "KRW", 0),
        (10_000_000 * 31 * 86_400, 10**12, "KRW", 7_440_000 * 10**12),  # 10,000 GPUs at a million
    ],
)
def test_an_amount_is_rounded_once_to_what_can_be_paid(
    quantity: int, rate_micro: int, currency: str, amount_micro: int
) -> None:
    assert pricing.amount(quantity, rate_micro, currency) == amount_micro


def test_a_line_is_its_quantity_times_the_rate_printed_on_it() -> None:
    price = Price(gpu_hour_micro=3_456_789, borrowed_milli=777)
    # 3,456,789 x 0.777 = 2,685,925.053 micro-units, printed as 2,685,925.
    assert price.for_use("borrowed") == 2_685_925


def test_tax_is_rounded_once_for_each_rate_of_tax() -> None:
    # 10 % of 333 won and of 333 won together: 66.6, not twice 33; 5 % of 10 won is 0.5, even 0.
    assert pricing.tax([(333 * WON, 1000), (333 * WON, 1000), (10 * WON, 500)], "KRW") == 67 * WON


quantities = st.integers(0, 10**13)
multipliers = st.integers(0, 3000)


@st.composite
def reckonings(draw: st.DrawFn) -> Reckoning:
    use = {
        UseKey(draw(st.sampled_from([None, 1, 2, 3])), charge, draw(st.sampled_from([None, 5]))): q
        for charge, q in draw(
            st.lists(
                st.tuples(st.sampled_from(["guaranteed", "reserved", "borrowed"]), quantities),
                max_size=5,
            )
        )
    }
    unused = draw(st.dictionaries(st.sampled_from([5, 6]), st.integers(1, 10**12)))
    idle, maintenance, down = draw(quantities), draw(quantities), draw(quantities)
    beyond = draw(st.sampled_from([0, 0, 12_345]))
    total = sum(use.values()) + sum(unused.values()) + idle + maintenance + down - beyond
    return Reckoning(max(total, 0), use, unused, idle, maintenance, down, beyond)


@given(
    reckonings(),
    st.sampled_from(["KRW", "USD", "KWD"]),
    st.sampled_from(list(IdleRule)),
    st.integers(0, 10**10),
    multipliers,
    multipliers,
)
def test_all_lines_of_a_pool_add_up_to_its_time_and_its_cost(
    reckoning: Reckoning,
    currency: str,
    rule: IdleRule,
    rate: int,
    borrowed: int,
    unused: int,
) -> None:
    price = Price(
        gpu_hour_micro=rate, borrowed_milli=borrowed, reserved_unused_milli=unused,
        currency=currency, idle_rule=rule,
    )  # fmt: skip
    stretch = Stretch(1, MONTH_STARTS, MONTH_ENDS, price)
    drafts = pricing.price_pool(
        stretch, reckoning, holders={5: 1, 6: 2}, weights={1: 3, 2: 0, 3: 4}
    )
    if reckoning.accounted == reckoning.capacity:
        assert sum(d.gpu_milli_seconds for d in drafts) == reckoning.capacity
    cost = round(reckoning.capacity * rate / 3_600_000)
    step = 10 ** (6 - money.minor_digits(currency))
    billed = sum(d.amount_micro for d in drafts)
    assert billed % step == 0
    assert abs(billed - cost) <= step + cost // 10**12
    assert all(d.amount_micro % step == 0 for d in drafts)
    shares = [d.gpu_milli_seconds for d in drafts if d.kind is LineKind.IDLE_SHARE]
    assert not shares or sum(shares) == reckoning.idle


# Cards.

LONG_BEFORE = datetime(2026, 9, 30, 15, tzinfo=UTC)


@pytest.fixture
def world(db: None) -> World:
    return three_days()


def set_card(
    world: World, valid_from: datetime, won: int = 15_000, currency: str = "KRW", **more: Any
) -> RateCard:
    given: dict[str, Any] = {"name": "Next", "tax_basis_points": 1000, **more}
    return services.set_rate_card(
        currency=currency, valid_from=valid_from, actor_id=7, now=AFTER_THREE_DAYS,
        rates=[NewRate(world.pool.pk, won * WON)], **given,
    )  # fmt: skip


def test_the_next_card_closes_the_one_before_it(world: World) -> None:
    card = set_card(world, at(15))
    world.card.refresh_from_db()
    assert (world.card.valid_to, card.valid_to) == (at(15), None)
    line = AuditEvent.objects.filter(action="finance.rate_card_set").order_by("-id")[0]
    assert (line.actor_id, line.target_id, line.data["closes"]) == (7, card.pk, world.card.pk)


def test_a_change_of_rates_cuts_the_month(world: World) -> None:
    set_card(world, at(2, 12), won=15_000)
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    # Vision: 6 x 36 h at 12,000 and 6 x 12 h at 15,000; borrowed 3 x 3 h at 8,400, then 3 x 9 h at
    # 15,000, since the next card makes no difference. 2,592,000 + 1,080,000 + 75,600 + 405,000.
    found = [
        (line.from_at, line.charged_to, line.gpu_milli_seconds // HOUR, line.amount_micro // WON)
        for line in StatementLine.objects.filter(statement__team=world.vision)
    ]
    assert found == [
        (at(1), "guaranteed", 216, 2_592_000),
        (at(1), "borrowed", 9, 75_600),
        (at(2, 12), "guaranteed", 72, 1_080_000),
        (at(2, 12), "borrowed", 27, 405_000),
    ]
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.cost_micro == (16 * 36 * 12_000 + 16 * 36 * 15_000) * WON
    assert answer.adds_up


def test_a_card_never_reaches_into_a_closed_month(world: World) -> None:
    services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)
    with pytest.raises(Conflict) as refused:
        set_card(world, MONTH_ENDS - timedelta(minutes=5))
    assert refused.value.code == "month_closed"
    set_card(world, MONTH_ENDS)
    before = list(StatementLine.objects.values())
    services.compute_month(month_start=MONTH_STARTS, now=MONTH_ENDS + timedelta(days=1))
    assert list(StatementLine.objects.values()) == before


def test_a_card_begins_after_the_one_it_follows(world: World) -> None:
    set_card(world, at(15))
    with pytest.raises(Conflict) as refused:
        set_card(world, at(15))
    assert refused.value.code == "card_follows"
    assert RateCard.objects.filter(valid_to__isnull=True).count() == 1


def test_another_currency_begins_with_a_month_and_never_after_one_was_closed(
    world: World,
) -> None:
    with pytest.raises(Conflict) as refused:
        set_card(world, at(15), currency="USD")
    assert refused.value.code == "currency_in_month"
    services.close_month(month_start=MONTH_STARTS, actor_id=7, now=MONTH_ENDS)
    with pytest.raises(Conflict) as refused:
        set_card(world, MONTH_ENDS, currency="USD")
    assert refused.value.code == "currency_settled"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "),
        ("currency", "won"),
        ("tax_basis_points", -1),
        ("tax_basis_points", 10_001),
        ("idle_rule", "somehow"),
        ("rates", []),
        ("rates", [NewRate(10**6, 1)]),
        ("rates", [NewRate(1, -1)]),
        ("rates", [NewRate(1, 1, borrowed_milli=-1)]),
        ("rates", [NewRate(1, 1), NewRate(1, 2)]),
    ],
)
def test_figures_that_make_no_sense_are_refused_by_name(
    db: None, field: str, value: object
) -> None:
    pool = builders.a_pool("h100")
    given: dict[str, Any] = {
        "name": "Next", "currency": "KRW", "valid_from": at(15), "rates": [NewRate(pool.pk, 1)],
    }  # fmt: skip
    with pytest.raises(Invalid) as refused:
        services.set_rate_card(**{**given, field: value}, actor_id=None, now=AFTER_THREE_DAYS)
    assert set(refused.value.fields) == {field}


def test_time_without_a_card_is_counted_and_costs_nothing(db: None) -> None:
    Organisation.objects.create(name="Hangang Labs")
    vision, pool = builders.a_team("vision"), builders.a_pool("h100", nodes=1)
    builders.use(vision, pool, at(1), at(2), gpus=2)
    services.compute_month(month_start=MONTH_STARTS, now=at(2))
    line = StatementLine.objects.get(statement__team=vision)
    assert (line.gpu_milli_seconds, line.amount_micro, line.rate_card_id) == (48 * HOUR, 0, None)
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.adds_up
    assert not answer.pools[0].has_rate


@pytest.mark.parametrize(
    ("rule", "vision", "speech"),
    [
        # 522 idle GPU-hours; guarantees 6 and 2; use 324 and 240.
        (IdleRule.BY_GUARANTEE, 522 * HOUR * 6 // 8, 522 * HOUR * 2 // 8),
        (IdleRule.BY_USE, 1_079_540_426, 799_659_574),  # 522 x 324/564 and x 240/564
        (IdleRule.EQUALLY, 261 * HOUR, 261 * HOUR),
    ],
)
def test_idle_time_is_shared_as_the_card_says(
    world: World, rule: IdleRule, vision: int, speech: int
) -> None:
    builders.a_quota(world.vision, world.pool, guaranteed=6)
    builders.a_quota(world.speech, world.pool, guaranteed=2)
    RateCard.objects.update(idle_rule=rule)
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    shares = {
        line.statement.team_id: (line.gpu_milli_seconds, line.idle_rule)
        for line in StatementLine.objects.filter(kind=LineKind.IDLE_SHARE).select_related(
            "statement"
        )
    }
    assert shares == {world.vision.pk: (vision, rule), world.speech.pk: (speech, rule)}
    assert not StatementLine.objects.filter(kind=LineKind.IDLE).exists()
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.adds_up


# Before asking.


def test_an_estimate_is_gpus_times_hours_times_the_rate(world: World) -> None:
    answer = selectors.estimate(
        pool_id=world.pool.pk, gpus=8, starts_at=at(20, 13), ends_at=at(20, 19), source=Source.POOL
    )
    assert answer is not None
    # 8 x 6 h = 48 GPU-hours at 12,000; at half the rate if they stay unused.
    assert (answer.amount_micro, answer.unused_micro) == (576_000 * WON, 288_000 * WON)
    assert (answer.tax_micro, answer.currency) == (57_600 * WON, "KRW")


def test_an_estimate_follows_a_card_that_begins_in_between(world: World) -> None:
    set_card(world, at(20, 16), won=15_000)
    answer = selectors.estimate(
        pool_id=world.pool.pk, gpus=8, starts_at=at(20, 13), ends_at=at(20, 19)
    )
    assert answer is not None
    assert answer.amount_micro == (24 * 12_000 + 24 * 15_000) * WON


def test_an_estimate_from_the_guarantee_costs_nothing_unused_and_borrowing_is_cheaper(
    world: World,
) -> None:
    times: dict[str, Any] = {"starts_at": at(20, 13), "ends_at": at(20, 14)}
    own = selectors.estimate(pool_id=world.pool.pk, gpus=1, source=Source.GUARANTEE, **times)
    lent = selectors.estimate(pool_id=world.pool.pk, gpus=1, charged_to="borrowed", **times)
    assert own is not None
    assert lent is not None
    assert (own.amount_micro, own.unused_micro) == (12_000 * WON, 0)
    assert lent.amount_micro == 8_400 * WON


def test_there_is_no_estimate_where_there_is_no_rate(world: World) -> None:
    other = builders.a_pool("a100", nodes=1)
    answer = selectors.estimate(pool_id=other.pk, gpus=1, starts_at=at(20), ends_at=at(21))
    before = selectors.estimate(
        pool_id=world.pool.pk, gpus=1, starts_at=LONG_BEFORE - timedelta(hours=1), ends_at=at(21)
    )
    assert answer is None
    assert before is None


@pytest.mark.parametrize(
    ("currency", "rate_micro", "total"),
    [
        ("KRW", 1_234 * WON, 355_392 * WON),
        ("USD", 2_345_600, 675_530_000),
        ("KWD", 765_432, 220_444_000),
    ],
)
def test_currencies_with_none_two_and_three_digits(
    db: None, currency: str, rate_micro: int, total: int
) -> None:
    # 288 GPU-hours: 355,392 won; 675.5328 dollars -> 675.53; 220.444416 dinars -> 220.444.
    Organisation.objects.create(name="Hangang Labs", currency=currency)
    vision, pool = builders.a_team("vision"), builders.a_pool("h100", nodes=1)
    services.set_rate_card(
        name="First", currency=currency, valid_from=LONG_BEFORE, actor_id=None, now=LONG_BEFORE,
        rates=[NewRate(pool.pk, rate_micro)],
    )  # fmt: skip
    builders.use(vision, pool, at(1), at(3), gpus=6)
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    assert Statement.objects.get(team=vision).total_micro == total
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.adds_up


def test_a_refusal_leaves_the_open_card_open(world: World) -> None:
    with pytest.raises(Refusal):
        set_card(world, at(15), name="")
    world.card.refresh_from_db()
    assert world.card.valid_to is None
