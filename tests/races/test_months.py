"""A month that is closed while it is worked out is the month it would be in calm."""

from datetime import timedelta

from portal.common import audit
from portal.common.models import AuditEvent
from portal.finance import services
from portal.finance.models import Month, Statement, StatementLine, StatementState
from portal.finance.services import NewRate
from tests.portal.finance.hand_worked import MONTH_ENDS, MONTH_STARTS, three_days
from tests.races.crowd import Crowd, words

AFTER = MONTH_ENDS + timedelta(days=1)
ALL = 13_824_000 * 1_000_000
"""Micro-won of the three days worked by hand; the rest of the month is idle."""
IDLE_DAYS = 27 * 24 * 16 * 12_000 * 1_000_000


def _close() -> Month:
    return services.close_month(month_start=MONTH_STARTS, actor_id=None, now=AFTER)


def _compute() -> Month:
    return services.compute_month(month_start=MONTH_STARTS, now=AFTER)


def test_closing_and_computing_at_once_bill_everything_once(crowd: Crowd) -> None:
    three_days()
    _compute()
    crowd.at_once(_close, _compute, _close, _compute)
    assert Month.objects.get().state == StatementState.FINAL
    assert {row.state for row in Statement.objects.all()} == {StatementState.FINAL}
    assert sum(StatementLine.objects.values_list("amount_micro", flat=True)) == ALL + IDLE_DAYS
    assert sum(Statement.objects.values_list("total_micro", flat=True)) == ALL + IDLE_DAYS
    assert AuditEvent.objects.filter(action="finance.month_closed").count() == 1
    assert audit.first_broken() is None


def test_nothing_of_a_closed_month_moves_however_often_it_is_computed(crowd: Crowd) -> None:
    three_days()
    _close()
    before = _everything()
    crowd.at_once(_compute, _close, lambda: services.compute_open(now=AFTER))
    assert _everything() == before


def test_a_new_rate_card_and_a_closing_do_not_mix(crowd: Crowd) -> None:
    world = three_days()
    endings = crowd.at_once(
        _close,
        lambda: services.set_rate_card(
            name="Dearer", currency="KRW", valid_from=MONTH_STARTS + timedelta(days=20),
            tax_basis_points=1000, actor_id=None, now=AFTER,
            rates=[NewRate(world.pool.pk, 24_000 * 1_000_000)],
        ),
    )  # fmt: skip
    assert "done" in words(endings)
    assert Month.objects.get().state == StatementState.FINAL
    lines = StatementLine.objects.all()
    cards = {line.rate_card_id for line in lines}
    dearer = endings[1].word == "done"
    assert (len(cards) == 2) == dearer
    assert audit.first_broken() is None


def _everything() -> tuple[object, ...]:
    """All of the closed month; the one after it may be open by now."""
    month = Month.objects.get(starts_at=MONTH_STARTS)
    lines = StatementLine.objects.filter(statement__month=month).order_by("id").values()
    statements = Statement.objects.filter(month=month).order_by("id").values()
    return month.closed_at, list(lines), list(statements)
