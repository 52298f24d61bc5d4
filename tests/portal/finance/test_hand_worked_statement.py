"""Three days worked by hand (see `hand_worked`), checked figure by figure."""

import pytest

from portal.finance import selectors, services
from portal.finance.models import Month, Statement, StatementLine
from tests.portal.finance.hand_worked import (
    AFTER_THREE_DAYS,
    HOUR,
    MONTH_ENDS,
    MONTH_STARTS,
    WON,
    World,
    statements_of,
    three_days,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    made = three_days()
    services.compute_month(month_start=MONTH_STARTS, now=AFTER_THREE_DAYS)
    return made


def lines_of(team_id: int | None) -> list[tuple[str, str, int | None, int, int, int]]:
    """Kind, charge, reservation, GPU-hours, won a GPU-hour, won."""
    return [
        (
            line.kind, line.charged_to, line.reservation_id, line.gpu_milli_seconds // HOUR,
            line.rate_micro // WON, line.amount_micro // WON,
        )
        for line in StatementLine.objects.filter(statement__in=statements_of(team_id))
    ]  # fmt: skip


def test_vision_pays_for_its_guarantee_and_less_for_what_it_borrowed(world: World) -> None:
    assert lines_of(world.vision.pk) == [
        ("use", "guaranteed", None, 288, 12_000, 3_456_000),
        ("use", "borrowed", None, 36, 8_400, 302_400),
    ]


def test_speech_pays_for_its_use_and_for_what_it_reserved_and_left(world: World) -> None:
    assert lines_of(world.speech.pk) == [
        ("use", "guaranteed", None, 240, 12_000, 2_880_000),
        ("reserved_unused", "", world.reservation.pk, 18, 6_000, 108_000),
    ]


def test_the_organisation_bears_the_rest(world: World) -> None:
    assert lines_of(None) == [
        ("unowned", "", None, 4, 12_000, 48_000),
        ("idle", "", None, 522, 12_000, 6_264_000),
        ("maintenance", "", None, 36, 12_000, 432_000),
        ("down", "", None, 8, 12_000, 96_000),
        ("rate_difference", "", None, 0, 0, 237_600),
    ]


def test_totals_and_tax_stand_apart(world: World) -> None:
    found = {s.team_id: (s.total_micro, s.tax_micro, s.currency) for s in Statement.objects.all()}
    assert found == {
        world.vision.pk: (3_758_400 * WON, 375_840 * WON, "KRW"),
        world.speech.pk: (2_988_000 * WON, 298_800 * WON, "KRW"),
        None: (7_077_600 * WON, 0, "KRW"),
    }


def test_all_statements_add_up_to_what_the_pool_cost(world: World) -> None:
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.capacity == answer.accounted == 1152 * HOUR
    assert answer.cost_micro == answer.billed_micro == 13_824_000 * WON
    assert answer.statements_micro == 13_824_000 * WON
    assert answer.adds_up
    assert answer.as_of == AFTER_THREE_DAYS


def test_the_month_is_november_as_seoul_has_it(world: World) -> None:
    month = Month.objects.get()
    assert (month.name, month.zone) == ("2026-11", "Asia/Seoul")
    assert (month.starts_at, month.ends_at) == (MONTH_STARTS, MONTH_ENDS)


def test_the_whole_month_bills_the_same_use_and_more_idle_time(world: World) -> None:
    # 27 more days of 16 idle GPUs: 27 x 24 x 16 = 10,368 GPU-hours; the rest is as before.
    services.close_month(month_start=MONTH_STARTS, actor_id=None, now=MONTH_ENDS)
    assert lines_of(None)[1] == ("idle", "", None, 522 + 10_368, 12_000, 130_680_000)
    assert lines_of(world.vision.pk)[0] == ("use", "guaranteed", None, 288, 12_000, 3_456_000)
    answer = selectors.get_reconciliation(instant=MONTH_STARTS)
    assert answer is not None
    assert answer.cost_micro == 16 * 720 * 12_000 * WON
    assert answer.adds_up
