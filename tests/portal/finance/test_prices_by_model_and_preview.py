"""A GPU model's rate holds for its pools without one; a preview shows a month at other prices."""

import pytest
from django.test import Client

from portal.common.errors import Invalid
from portal.finance import selectors, services
from portal.finance.models import RateCard, Statement
from portal.finance.services import NewRate
from portal.inventory.models import GPUModel
from portal.teams.models import Role
from tests import builders
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    MONTH_STARTS,
    WON,
    World,
    at,
    three_days,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    made = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    return made


def proposed(world: World, **changes: object) -> dict[str, object]:
    """Twice the price, borrowed for nothing; all else as the card has it."""
    return {
        "month": "2026-11", "currency": "KRW", "tax_basis_points": 1000,
        "rates": [
            {"pool": world.pool.pk, "gpu_hour_micro": 24_000 * WON, "borrowed_milli": 0,
             "reserved_unused_milli": 500},
        ],
        **changes,
    }  # fmt: skip


def test_a_model_prices_its_pools_and_a_pools_own_rate_goes_before_it() -> None:
    h100, other = builders.a_pool("h100", nodes=1), builders.a_pool("l4", nodes=1)
    twin = builders.a_pool("h100-twin", nodes=1)
    twin.gpu_model = h100.gpu_model
    twin.save()
    services.set_rate_card(
        name="By model", currency="KRW", valid_from=at(-30), actor_id=None, now=at(-30),
        rates=[
            NewRate(None, 5_000 * WON, gpu_model_id=h100.gpu_model_id),
            NewRate(twin.pk, 4_000 * WON),
        ],
    )  # fmt: skip

    def price(pool_id: int) -> int | None:
        found = selectors.estimate(
            pool_id=pool_id, gpus=1, starts_at=at(1), ends_at=at(1, 1), source="pool"
        )
        return None if found is None else found.amount_micro // WON

    assert price(h100.pk) == 5_000
    assert price(twin.pk) == 4_000
    assert price(other.pk) is None
    (card,) = selectors.list_rate_cards()
    assert [(r.pool_name, r.gpu_model) for r in card.rates] == [("", "H100"), ("h100-twin", "H100")]


def test_a_rate_names_a_pool_or_a_model_and_each_once() -> None:
    pool = builders.a_pool("h100", nodes=1)
    model = pool.gpu_model_id
    for rates in (
        [NewRate(None, WON)],
        [NewRate(pool.pk, WON, gpu_model_id=model)],
        [NewRate(None, WON, gpu_model_id=model)] * 2,
        [NewRate(None, WON, gpu_model_id=model + 1)],
    ):
        with pytest.raises(Invalid):
            services.set_rate_card(
                name="Wrong", currency="KRW", valid_from=at(1), rates=rates, actor_id=None,
                now=at(1),
            )  # fmt: skip
    assert GPUModel.objects.count() == 1
    assert not RateCard.objects.exists()


def test_a_preview_is_the_month_at_other_prices_and_sets_nothing(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: AFTER_THREE_DAYS)
    client.force_login(builders.a_user("boram", Role.FINANCE))
    answer = client.post(
        "/api/v1/rate-cards/preview", proposed(world), content_type="application/json"
    )
    assert answer.status_code == 200
    rows = {row["team"]: row for row in answer.json()["teams"]}
    # Vision: 288 x 24,000 and 36 borrowed for nothing. Speech: 240 x 24,000 + 18 x 12,000.
    vision, speech = rows[world.vision.pk], rows[world.speech.pk]
    assert (vision["now_micro"], vision["then_micro"]) == (3_758_400 * WON, 6_912_000 * WON)
    assert (speech["now_micro"], speech["then_micro"]) == (2_988_000 * WON, 5_976_000 * WON)
    assert speech["then_tax_micro"] == 597_600 * WON
    together = sum(row["then_micro"] for row in rows.values())
    assert together == 2 * 13_824_000 * WON
    assert RateCard.objects.count() == 1
    assert Statement.objects.get(team=world.vision).total_micro == 3_758_400 * WON


def test_a_preview_in_another_currency_is_not_subtracted(world: World) -> None:
    terms = services.propose(name="Dollars", currency="USD", rates=[NewRate(world.pool.pk, 10**6)])
    found = selectors.preview_rates(instant=MONTH_STARTS, terms=terms, now=AFTER_THREE_DAYS)
    assert not found.comparable
    assert (found.currency, found.then_currency) == ("KRW", "USD")
    assert found.then_micro == 1152 * 10**6


def test_the_form_previews_before_it_sets(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: AFTER_THREE_DAYS)
    client.force_login(builders.a_user("boram", Role.FINANCE))
    pool = world.pool.pk
    given = {
        "name": "Winter", "currency": "KRW", "tax_percent": "10", "idle_rule": "own_line",
        "valid_from": "2026-12-01T00:00", f"rate_{pool}": "24000", f"borrowed_{pool}": "0",
        f"unused_{pool}": "0.5", "preview_month": "2026-11", "preview": "yes",
    }  # fmt: skip
    page = client.post("/costs/rates/next/", given).content.decode()
    assert "6,912,000" in page
    assert RateCard.objects.count() == 1
    del given["preview"]
    client.post("/costs/rates/next/", given)
    assert RateCard.objects.count() == 2
