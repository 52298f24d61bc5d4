"""One writer at a time, and one that was paused writes nothing any more."""

from datetime import UTC, datetime, timedelta

import pytest

from portal.common import clock, leases

pytestmark = pytest.mark.django_db


class Watch:
    """A clock the test turns."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(clock, "real_now", watch)
    return watch


def _take(holder: str) -> leases.Held | None:
    return leases.take(name="cluster-1", holder=holder, seconds=30)


def test_while_one_holds_it_no_other_gets_it(watch: Watch) -> None:
    first = _take("worker-a")
    assert first is not None
    leases.check(first)
    assert _take("worker-b") is None


def test_given_up_it_is_free_at_once_and_the_number_grows(watch: Watch) -> None:
    first = _take("worker-a")
    assert first is not None
    leases.give_up(first)
    second = _take("worker-b")
    assert second is not None
    assert second.fence > first.fence


def test_a_holder_that_was_paused_past_its_time_is_fenced_off(watch: Watch) -> None:
    paused = _take("worker-a")
    assert paused is not None
    watch.at += timedelta(seconds=30)
    assert _take("worker-b") is not None
    with pytest.raises(leases.Fenced, match="worker-b"):
        leases.check(paused)


def test_a_fenced_holder_giving_up_takes_nothing_from_the_new_one(watch: Watch) -> None:
    paused = _take("worker-a")
    assert paused is not None
    watch.at += timedelta(seconds=31)
    new = _take("worker-b")
    leases.give_up(paused)
    assert new is not None
    leases.check(new)
    assert _take("worker-c") is None


def test_the_block_knows_when_it_may_not_write(watch: Watch) -> None:
    with leases.holding(name="x", holder="a", seconds=5) as first:
        assert first is not None
        with leases.holding(name="x", holder="b", seconds=5) as second:
            assert second is None
    assert leases.take(name="x", holder="c", seconds=5) is not None


def test_a_lease_of_a_clock_that_was_far_ahead_bars_nobody(watch: Watch) -> None:
    watch.at += timedelta(hours=1)
    ahead = _take("ahead")
    assert ahead is not None
    watch.at -= timedelta(hours=1)
    held = _take("punctual")
    assert held is not None
    assert held.fence == ahead.fence + 1
    with pytest.raises(leases.Fenced):
        leases.keep(ahead)
