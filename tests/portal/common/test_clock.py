"""The organisation's time runs as it was anchored."""

from datetime import UTC, datetime, timedelta

import pytest

from portal.common import clock

pytestmark = pytest.mark.django_db
REAL = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_without_an_anchor_it_is_real_time() -> None:
    assert clock.at(REAL) == REAL
    assert clock.speed() == 1


def test_at_speed_sixty_a_real_second_is_a_minute() -> None:
    begin = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
    clock.set_anchor(real_at=REAL, organisation_at=begin, speed=60)
    assert clock.at(REAL + timedelta(seconds=90)) == begin + timedelta(minutes=90)
    assert clock.speed() == 60


def test_a_newer_anchor_goes_on_where_it_says() -> None:
    begin = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
    clock.set_anchor(real_at=REAL, organisation_at=begin, speed=60)
    later = REAL + timedelta(days=3)
    clock.set_anchor(real_at=later, organisation_at=begin + timedelta(hours=2), speed=60)
    assert clock.at(later) == begin + timedelta(hours=2)


def test_whole_seconds_are_rounded_down() -> None:
    assert clock.whole_seconds(datetime(1970, 1, 1, 0, 0, 1, 999999, tzinfo=UTC)) == 1
