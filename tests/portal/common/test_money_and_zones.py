"""Money is rounded once and shown as its currency is; months and days follow their zone."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.common import money, zones


@pytest.mark.parametrize(
    ("amount", "currency", "micro", "shown"),
    [
        ("1152000.4", "KRW", 1_152_000_000_000, "₩ 1,152,000"),
        ("0.125", "USD", 120_000, "$ 0.12"),
        ("0.135", "USD", 140_000, "$ 0.14"),
        ("1.0005", "BHD", 1_000_000, "1.000 BHD"),
        ("1.0015", "BHD", 1_002_000, "1.002 BHD"),
        ("0", "EUR", 0, "€ 0.00"),
    ],
)
def test_an_amount_is_rounded_half_even_to_what_can_be_paid(
    amount: str, currency: str, micro: int, shown: str
) -> None:
    assert money.round_micro(Decimal(amount), currency) == micro
    assert money.show(micro, currency) == shown


def test_half_past_three_in_the_afternoon_utc_is_already_next_month_in_seoul() -> None:
    start, end = zones.month_of(datetime(2026, 11, 30, 15, 30, tzinfo=UTC), "Asia/Seoul")
    assert start == datetime(2026, 11, 30, 15, tzinfo=UTC)
    assert end == datetime(2026, 12, 31, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("instant", "hours"),
    [("2026-03-29T12:00", 23), ("2026-10-25T12:00", 25), ("2026-06-01T12:00", 24)],
)
def test_a_day_has_23_or_25_hours_when_the_clocks_change(instant: str, hours: int) -> None:
    start, end = zones.day_of(datetime.fromisoformat(instant).replace(tzinfo=UTC), "Europe/Berlin")
    assert end - start == timedelta(hours=hours)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)),  # noqa: DTZ001 -- made aware below
    st.sampled_from(["Asia/Seoul", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_months_tile_time_without_gap_or_overlap(naive: datetime, zone: str) -> None:
    instant = naive.replace(tzinfo=UTC)
    start, end = zones.month_of(instant, zone)
    assert start <= instant < end
    assert zones.month_of(end, zone)[0] == end
