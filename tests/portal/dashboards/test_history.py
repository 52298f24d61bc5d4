"""What teams had over time is what ticks wrote; where none wrote there is a gap."""

from datetime import datetime, timedelta

import pytest

from portal.dashboards import periods
from portal.dashboards.selectors import history
from portal.inventory.models import Pool
from portal.scheduling.models import Share, Tick, TickState
from portal.teams.models import Team
from tests import builders

HOUR = timedelta(hours=1)


def a_tick(
    pool: Pool, at: datetime, shares: dict[Team, tuple[int, int, int, int]], jain: float = 0.5
) -> Tick:
    """Fair share, held, borrowed and lent of each team, in GPUs."""
    tick = Tick.objects.create(
        cluster=pool.cluster, at=at, state=TickState.DONE, started_real_at=at, jain=jain
    )
    for team, (fair, held, borrowed, lent) in shares.items():
        Share.objects.create(
            tick=tick, team=team, pool=pool, guaranteed=8000, reserved=0, fair_share=fair * 1000,
            allocated=held * 1000, borrowed=borrowed * 1000, lent=lent * 1000, available=0,
            dominant_share=held / 32, satisfaction=1, guaranteed_gpus=8, burst_gpus=0,
        )  # fmt: skip
    return tick


@pytest.fixture
def pool(db: None) -> Pool:
    return builders.a_pool("h100", nodes=4)


@pytest.fixture
def two(pool: Pool) -> tuple[Team, Team]:
    return builders.a_team("vision"), builders.a_team("speech")


def the_day(now: datetime) -> periods.Window:
    return periods.cut(now - timedelta(days=1), now, "UTC")


def test_the_first_tick_of_each_hour_stands_for_it_and_others_are_gaps(
    pool: Pool, two: tuple[Team, Team], now: datetime
) -> None:
    vision, speech = two
    a_tick(pool, now - 5 * HOUR, {vision: (8, 6, 0, 2), speech: (8, 10, 2, 0)})
    a_tick(pool, now - 5 * HOUR + HOUR / 2, {vision: (8, 0, 0, 0)})
    a_tick(pool, now - 3 * HOUR, {vision: (8, 8, 0, 0), speech: (8, 8, 0, 0)}, jain=1.0)
    found = history.get_history(the_day(now))
    assert found.window.step == HOUR
    assert [i for i, sample in enumerate(found.samples) if sample] == [19, 21]
    assert [a.held if a else None for a in found.of(vision.pk)][19:22] == [6000, None, 8000]
    assert found.means()[vision.pk].held == 7000
    assert found.means()[speech.pk].borrowed == 1000
    assert found.jain == 0.75


def test_of_one_pool_evenness_is_worked_out_from_its_shares(
    pool: Pool, two: tuple[Team, Team], now: datetime
) -> None:
    vision, speech = two
    a_tick(pool, now - HOUR, {vision: (8, 8, 0, 0), speech: (8, 0, 0, 0)})
    # One has all of its fair share, the other nothing: (1 + 0)² ÷ (2 × (1 + 0)).
    assert history.get_history(the_day(now), pool_id=pool.pk).jain == 0.5


def test_teams_on_two_clusters_have_the_sum_of_both(
    pool: Pool, two: tuple[Team, Team], now: datetime
) -> None:
    vision, _ = two
    other = builders.a_pool("t4", builders.a_cluster("far"), nodes=1)
    a_tick(pool, now - HOUR, {vision: (8, 6, 0, 0)})
    a_tick(other, now - HOUR, {vision: (4, 4, 0, 0)})
    mean = history.get_history(the_day(now)).means()[vision.pk]
    assert (mean.held, mean.fair, mean.dominant) == (10_000, 12_000, 6 / 32)


def test_pairs_are_split_at_each_instant_not_over_all(
    pool: Pool, two: tuple[Team, Team], now: datetime
) -> None:
    """By night Vision lends to Speech, by day Speech to Vision: neither lent to itself."""
    vision, speech = two
    a_tick(pool, now - 5 * HOUR, {vision: (8, 4, 0, 4), speech: (8, 12, 4, 0)})
    a_tick(pool, now - 3 * HOUR, {vision: (8, 10, 2, 0), speech: (8, 5, 0, 1)})
    pairs = history.list_pairs(history.get_history(the_day(now)))
    assert [(p.lender_id, p.borrower_id, p.gpus) for p in pairs] == [
        (vision.pk, speech.pk, 2.0), (None, vision.pk, 0.5), (speech.pk, vision.pk, 0.5),
    ]  # fmt: skip


def test_a_tick_that_decided_nothing_is_no_sample(pool: Pool, now: datetime) -> None:
    Tick.objects.create(
        cluster=pool.cluster, at=now - HOUR, state=TickState.STALE, started_real_at=now
    )
    found = history.get_history(the_day(now))
    assert (found.known, found.means(), found.jain) == ([], {}, None)


@pytest.mark.parametrize(
    ("length", "step"),
    [(timedelta(days=1), HOUR), (timedelta(days=7), 3 * HOUR), (timedelta(days=30), 12 * HOUR),
     (timedelta(days=90), timedelta(days=2)), (timedelta(days=400), timedelta(days=7))],
)  # fmt: skip
def test_a_chart_never_has_more_points_than_tell_something(
    now: datetime, length: timedelta, step: timedelta
) -> None:
    window = periods.cut(now - length, now, "Asia/Seoul")
    assert window.step == step
    assert len(window.places) <= periods.MOST + 1
    assert window.places[0] <= now - length
    assert window.places[-1] < now


def test_days_begin_at_midnight_of_the_zone_also_when_a_clock_is_put_back() -> None:
    """Berlin put its clocks back on 25 October 2026: that day had 25 hours."""
    begins = datetime.fromisoformat("2026-10-20T00:00+02:00")
    window = periods.cut(begins, begins + timedelta(days=61), "Europe/Berlin")
    assert window.step == timedelta(days=2)
    hours = {(b - a) for a, b in zip(window.places, window.places[1:], strict=False)}
    assert hours == {timedelta(hours=48), timedelta(hours=49)}
