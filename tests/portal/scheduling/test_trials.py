"""A trial's figures, against three jobs worked out by hand."""

import pytest

from portal.scheduling import trials
from scheduler_core import model as engine
from scheduler_core.traces import Job

# One machine of eight GPUs, and three jobs that each want all of it:
#   A comes at 0 and takes 100 s, B at 10 and 1000 s, C at 20 and 10 s.
# First come, first served:  A 0-100, B 100-1100, C 1100-1110; waits 0, 90, 1080.
# Shortest first:            A 0-100, C 100-110,  B 110-1110;  waits 0, 80, 100.
JOBS = [
    Job("a", 0, 100, 8000, team="red"),
    Job("b", 10, 1000, 8000, team="blue"),
    Job("c", 20, 10, 8000, team="red"),
]
HOUR = 3600


def terms(order: str, **rules: object) -> engine.Snapshot:
    return trials.bare_terms("1x8", engine.Policy(order=order, **rules))  # type: ignore[arg-type]


def test_first_come_first_served_is_as_worked_out_by_hand() -> None:
    found = trials.run(JOBS, terms("fifo"), until=2000)
    assert (found.wait_p50, found.wait_p90, found.wait_p99) == (90, 1080, 1080)
    assert (found.jobs, found.completed, found.still_waiting) == (3, 3, 0)
    # 1,110 of 2,000 seconds the whole machine was held.
    assert found.allocated_pct == found.utilised_pct == pytest.approx(55.5)
    assert found.gpu_seconds == 1110 * 8
    red = found.teams["red"]
    assert (red.jobs, red.wait_p50, red.wait_p99, red.gpu_seconds) == (2, 0, 1080, 880)
    assert red.by_pool == {trials.POOL: 880}


def test_shortest_first_is_as_worked_out_by_hand() -> None:
    found = trials.run(JOBS, terms("sjf"), until=2000)
    assert (found.wait_p50, found.wait_p90, found.wait_p99) == (80, 100, 100)
    assert found.allocated_pct == pytest.approx(55.5)
    assert found.teams["blue"].wait_p50 == 100


def test_what_still_waits_counts_with_the_wait_it_has_had() -> None:
    found = trials.run(JOBS, terms("fifo"), until=1000)
    assert (found.still_waiting, found.completed) == (1, 1)
    assert found.longest_wait == 980
    assert found.allocated_pct == pytest.approx(100)


def test_who_waits_for_a_day_is_starved() -> None:
    long = [Job("a", 0, 30 * HOUR, 8000), Job("b", 0, 10, 8000)]
    assert trials.run(long, terms("fifo"), until=25 * HOUR).starved == 1
    assert trials.run(long, terms("fifo"), until=24 * HOUR).starved == 0


def test_waiting_behind_the_head_while_enough_is_free_is_head_of_line_blocking() -> None:
    # Six of eight are held for 1,000 s; eight are wanted next, and two behind that would fit.
    jobs = [
        Job("a", 0, 1000, 6000), Job("b", 0, 100, 8000), Job("c", 0, 100, 2000),
    ]  # fmt: skip
    strict = trials.run(jobs, terms("fifo_strict"), until=1000)
    free = trials.run(jobs, terms("fifo", backfill="off"), until=1000)
    assert strict.held_back_pct == pytest.approx(50)
    assert free.held_back_pct == 0


def test_held_and_waiting_gpus_over_time_are_those_of_the_moment() -> None:
    found = trials.run(JOBS, terms("fifo"), until=1200)
    # A stretch is 20 s: the first one ends before B and C have both come, the last is idle.
    assert found.held[:5] == (8000,) * 5
    assert found.held[-1] == 0
    assert found.waiting[0] == 8000
    assert found.waiting[10] == 8000


def test_a_reservation_holds_back_what_would_still_run_when_it_opens() -> None:
    base = terms("fifo")
    team = engine.Team("blue")
    kept = engine.Reservation("r1", "blue", trials.POOL, 8000, 50, 500)
    with_one = engine.Snapshot(
        now=0, policy=base.policy, teams=(team,), pools=base.pools, nodes=base.nodes,
        quotas=(engine.Quota("blue", trials.POOL, 0),), reservations=(kept,),
    )  # fmt: skip
    jobs = [
        Job("c", 0, 100, 8000, team="red", preemptible=False),
        Job("b", 60, 10, 8000, team="blue"),
    ]
    assert trials.run(jobs, base, until=1000).teams["red"].wait_p50 == 0
    # At 50 the reservation opens with nobody in it, so what waited may borrow it.
    assert trials.run(jobs, with_one, until=1000).teams["red"].wait_p50 == 50
