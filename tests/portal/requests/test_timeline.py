"""The calendar's stretches: days, weeks and months on the clocks of any zone."""

from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.requests import local_times, timeline
from portal.requests.timeline import DAY, MONTH, SPANS, STEPS, WEEK, view_of

ZONES = (
    "Asia/Seoul", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
    "Pacific/Apia", "UTC",
)  # fmt: skip


@pytest.mark.parametrize(
    ("day", "span", "zone", "first", "hours"),
    [
        ("2026-11-18", MONTH, "Asia/Seoul", "2026-11-01", 30 * 24),
        ("2026-12-31", MONTH, "Asia/Seoul", "2026-12-01", 31 * 24),
        ("2028-02-29", MONTH, "Asia/Seoul", "2028-02-01", 29 * 24),
        ("2026-03-29", DAY, "Europe/Berlin", "2026-03-29", 23),
        ("2026-10-25", DAY, "Europe/Berlin", "2026-10-25", 25),
        ("2026-10-31", WEEK, "Europe/Berlin", "2026-10-26", 168),
        ("2026-10-25", WEEK, "Europe/Berlin", "2026-10-19", 169),
        ("2026-03-31", MONTH, "Europe/Berlin", "2026-03-01", 31 * 24 - 1),
        ("2026-11-01", MONTH, "America/New_York", "2026-11-01", 30 * 24 + 1),
    ],
)
def test_a_stretch_is_as_long_as_its_clocks_say(
    day: str, span: str, zone: str, first: str, hours: int
) -> None:
    view = view_of(date.fromisoformat(day), span, zone)
    assert view.day == first
    assert view.to_at - view.from_at == timedelta(hours=hours)


@given(
    st.dates(date(2024, 1, 1), date(2030, 12, 31)), st.sampled_from(SPANS), st.sampled_from(ZONES)
)
@settings(max_examples=60, deadline=None)
def test_stretches_follow_one_another_without_a_gap(day: date, span: str, zone: str) -> None:
    view = view_of(day, span, zone)
    after = view_of(date.fromisoformat(view.moved_on), span, zone)
    before = view_of(date.fromisoformat(view.moved_back), span, zone)
    assert after.from_at == view.to_at
    assert before.to_at == view.from_at
    assert view.from_at.astimezone(ZoneInfo(zone)).date() == view.first <= day


@given(
    st.dates(date(2026, 1, 1), date(2026, 12, 31)), st.sampled_from(SPANS), st.sampled_from(ZONES)
)
@settings(max_examples=60, deadline=None)
def test_what_can_be_drawn_is_what_can_be_typed(day: date, span: str, zone: str) -> None:
    """Each instant reads back as itself, also where the clocks go forward or back."""
    view = view_of(day, span, zone)
    instants = [local_times.read(text, zone) for text in view.slots.split(" ")]
    assert instants[0] == view.from_at
    steps = {after - before for before, after in pairwise(instants)}
    assert steps == {STEPS[span]}
    assert view.to_at - instants[-1] < STEPS[span]


def test_the_hour_that_comes_twice_can_be_drawn_twice() -> None:
    view = view_of(date(2026, 10, 25), DAY, "Europe/Berlin")
    twice = [text for text in view.slots.split(" ") if text.startswith("2026-10-25T02:30")]
    assert twice == ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]


def test_a_month_begins_at_midnight_of_its_zone() -> None:
    view = view_of(date(2026, 12, 5), MONTH, "Asia/Seoul")
    assert view.from_at == datetime.fromisoformat("2026-11-30T15:00:00+00:00")
    assert timeline.midnight(date(2026, 12, 1), "Asia/Seoul") == view.from_at
