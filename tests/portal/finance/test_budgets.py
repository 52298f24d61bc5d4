"""Budgets: spent, booked, told at their marks, and refused beyond; the month to its end."""

from datetime import timedelta

import pytest
from django.test import Client

from portal.common.errors import Conflict, Invalid
from portal.common.models import AuditEvent
from portal.finance import selectors, services
from portal.finance.models import Budget, BudgetAlert
from portal.finance.services import NewRate
from portal.inventory.models import Pool
from portal.reservations.models import ReservationState
from portal.teams.models import Role, Team
from portal.usage import services as usage
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

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """Vision owes 3,758,400 and Speech 2,988,000 after three days."""
    made = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    return made


def budget(team: Team, won: int, **columns: object) -> Budget:
    given = {"period": "month", "amount_micro": won * WON, "actor_id": 7, "now": at(1), **columns}
    return services.set_budget(team_id=team.pk, **given)  # type: ignore[arg-type]


def the_row() -> selectors.BudgetRow:
    (row,) = selectors.list_budgets(now=AFTER_THREE_DAYS)
    return row


def test_a_budget_counts_the_team_and_all_below_it(world: World) -> None:
    above = builders.a_team("research")
    for team in (world.vision, world.speech):
        team.terms.update(parent=above)
    budget(above, 10_000_000)
    row = the_row()
    assert row.spent == (3_758_400 + 2_988_000) * WON
    assert (row.percent, row.left) == (67, (10_000_000 - 6_746_400) * WON)


def test_what_is_booked_for_the_rest_of_the_period_is_not_left(world: World) -> None:
    builders.a_reservation(
        world.vision, world.pool, at(10), hours=5, gpus=4, state=ReservationState.PENDING
    )
    builders.a_reservation(
        world.vision, world.pool, at(31), hours=5, gpus=4, state=ReservationState.PENDING
    )
    budget(world.vision, 5_000_000)
    row = the_row()
    assert row.booked == 5 * 4 * 12_000 * WON
    assert row.left == (5_000_000 - 3_758_400 - 240_000) * WON


@pytest.mark.parametrize(
    ("period", "name", "hours"),
    [("month", "2026-11", 720), ("quarter", "2026-Q4", 92 * 24), ("year", "2026", 365 * 24)],
)
def test_periods_are_billing_months_put_together(
    world: World, period: str, name: str, hours: int
) -> None:
    budget(world.vision, 1, period=period)
    row = the_row()
    assert row.of.name == name
    assert row.of.ends_at - row.of.starts_at == timedelta(hours=hours)
    assert row.spent == 3_758_400 * WON


def test_a_budget_in_gpu_hours_counts_use_and_what_stood_unused(world: World) -> None:
    budget(world.speech, 0, amount_micro=None, gpu_milli_seconds=300 * HOUR)
    row = the_row()
    assert row.in_time
    # 240 used and 18 reserved and not used.
    assert (row.spent, row.percent) == (258 * HOUR, 86)


def test_each_mark_is_noted_once_in_a_period(world: World) -> None:
    budget(world.vision, 4_000_000)  # 93.96 %
    assert services.note_alerts(now=AFTER_THREE_DAYS) == 2
    assert services.note_alerts(now=AFTER_THREE_DAYS) == 0
    assert sorted(BudgetAlert.objects.values_list("percent", flat=True)) == [75, 90]
    assert the_row().alerts == (75, 90)
    assert AuditEvent.objects.filter(action="finance.budget_alert").count() == 2


def ask(team: Team, won: int, at_day: int = 5) -> None:
    selectors.check_budget(
        team_id=team.pk, amount_micro=won * WON, gpu_milli_seconds=HOUR, starts_at=at(at_day),
        now=AFTER_THREE_DAYS,
    )  # fmt: skip


def test_what_would_go_beyond_a_refusing_budget_is_refused_with_the_numbers(world: World) -> None:
    budget(world.vision, 4_000_000, refuses=True)
    ask(world.vision, 241_600)
    with pytest.raises(Conflict) as refused:
        ask(world.vision, 241_601)
    assert refused.value.code == "beyond_budget"
    assert refused.value.details["spent"] == 3_758_400 * WON
    assert "₩ 4,000,000" in refused.value.message
    ask(world.vision, 10**9, at_day=31)  # next month's money
    ask(world.speech, 10**9)


def test_a_budget_above_the_team_refuses_as_well(world: World) -> None:
    above = builders.a_team("research")
    world.vision.terms.update(parent=above)
    budget(above, 4_000_000, refuses=True)
    with pytest.raises(Conflict):
        ask(world.vision, 241_601)


def test_one_that_only_tells_refuses_nothing(world: World) -> None:
    budget(world.vision, 1)
    ask(world.vision, 10**9)


def test_setting_the_next_ends_the_one_before_and_ending_leaves_none(world: World) -> None:
    first = budget(world.vision, 1)
    second = budget(world.vision, 2, now=at(2))
    first.refresh_from_db()
    assert first.valid_to == second.valid_from == at(2)
    services.end_budget(budget_id=second.pk, actor_id=7, now=at(3))
    assert selectors.list_budgets(now=AFTER_THREE_DAYS) == []
    with pytest.raises(Conflict):
        services.end_budget(budget_id=second.pk, actor_id=7, now=at(3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount_micro": 0}, {"amount_micro": None}, {"gpu_milli_seconds": 5},
        {"period": "decade"}, {"amount_micro": 10**19},
    ],
)  # fmt: skip
def test_a_budget_that_makes_no_sense_is_refused(world: World, wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        budget(world.vision, 1, **wrong)


def test_only_finance_sets_and_a_lead_sees_their_own(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: AFTER_THREE_DAYS)
    client.force_login(builders.a_user("boram", Role.FINANCE))
    given = {
        "team": world.vision.pk, "limit": "4000000", "unit": "money", "period": "month",
        "refuses": "on",
    }  # fmt: skip
    page = client.post("/costs/budgets/new/", given, follow=True).content.decode()
    assert "93 % spent" in page
    body = {"team": world.speech.pk, "period": "year", "gpu_milli_seconds": 1000 * HOUR}
    assert client.post("/api/v1/budgets", body, content_type="application/json").status_code == 201
    client.force_login(builders.a_user("minji", Role.LEAD, world.vision))
    page = client.get("/costs/budgets/").content.decode()
    assert "Vision" in page
    assert "Speech" not in page
    (row,) = client.get("/api/v1/budgets").json()["results"]
    assert (row["percent"], row["refuses"]) == (93, True)
    assert client.get("/costs/budgets/new/").status_code == 404


def test_the_month_is_spent_and_booked_and_what_the_last_days_averaged(pool: Pool) -> None:
    vision = builders.a_team("vision")
    # Days 8 to 14: 2 GPUs all day, on day 14 4 GPUs. Day 1: not among the last seven.
    builders.use(vision, pool, at(1), at(2), gpus=1)
    builders.use(vision, pool, at(8), at(14), gpus=2)
    builders.use(vision, pool, at(14), at(15), gpus=4)
    builders.a_reservation(vision, pool, at(20), hours=10, gpus=1, state=ReservationState.PENDING)
    usage.rebuild_rollups()
    services.compute_month(month_start=MONTH_STARTS, now=at(15))
    found = selectors.forecast(now=at(15), team_ids=[vision.pk])[vision.pk]
    day = 24 * 1_000 * WON
    # So far 24 x (1 + 12 + 4); 16 days are left.
    assert found.so_far_micro == 17 * day
    assert found.booked_micro == 10 * 1_000 * WON
    assert found.expected_micro == 16 * (6 * 2 + 4) * day // 7
    assert found.low_micro == 17 * day + 10_000 * WON + 16 * 2 * day
    assert found.high_micro == 17 * day + 10_000 * WON + 16 * 4 * day
    assert found.low_micro <= found.total_micro <= found.high_micro


@pytest.fixture
def pool(db: None) -> Pool:
    """A thousand won a GPU-hour."""
    pool = builders.a_pool("h100", nodes=1)
    services.set_rate_card(
        name="Card", currency="KRW", valid_from=at(-30), actor_id=None, now=at(-30),
        rates=[NewRate(pool.pk, 1_000 * WON)],
    )  # fmt: skip
    return pool


def test_without_money_everybody_sees_gpu_hours_only(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: AFTER_THREE_DAYS)
    client.force_login(builders.a_user("boram", Role.FINANCE))
    usage.rebuild_rollups()
    statement = world.vision.statements.get()
    pages = (
        "/costs/", f"/costs/statements/{statement.pk}/", "/costs/use/", "/costs/budgets/",
        f"/costs/statements/{statement.pk}.csv", "/costs/?format=csv",
        f"/api/v1/statements/{statement.pk}.csv", "/costs/months/2026-11/close/",
    )  # fmt: skip
    signs = ("₩", "3,758,400", "3758400", "KRW")

    def text(address: str) -> str:
        answer = client.get(address)
        assert answer.status_code == 200, address
        return b"".join(answer).decode()

    assert any(sign in text("/costs/") for sign in signs)
    client.post("/costs/show-money/", {"shows": "no"})
    assert not selectors.shows_money()
    for address in pages:
        found = text(address)
        assert not [sign for sign in signs if sign in found], address
    assert "324.0" in text(f"/costs/statements/{statement.pk}/")
    detail = client.get(f"/api/v1/statements/{statement.pk}").json()
    assert detail["total_micro"] is None
    assert detail["lines"][0]["amount_micro"] is None
    assert detail["lines"][0]["gpu_milli_seconds"] == 288 * HOUR
    assert selectors.estimate(pool_id=world.pool.pk, gpus=1, starts_at=at(5), ends_at=at(6)) is None
    client.post("/costs/show-money/", {"shows": "yes"})
    assert "₩ 3,758,400" in text(f"/costs/statements/{statement.pk}/")
    statement.refresh_from_db()
    assert statement.total_micro == 3_758_400 * WON
    assert MONTH_ENDS > AFTER_THREE_DAYS
