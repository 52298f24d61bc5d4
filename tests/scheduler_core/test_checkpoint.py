"""Checkpoint formulas against the values printed in the literature, times in minutes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import checkpoint

# save, restart, mean time to interruption, Young, Daly, exact, wall time over work at Daly's
TABLE = [
    (5, 10, 1440, 120.00, 116.69, 116.690, 1.09576),
    (5, 10, 360, 60.00, 56.71, 56.714, 1.22043),
    (5, 10, 15, 12.25, 9.14, 9.167, 5.00833),
    (2, 0, 8212.5, 181.25, 179.91, 179.915, 1.02240),
    (2.48, 10, 1440, 84.51, 82.87, 82.868, 1.06845),
    (0.105, 10, 1440, 17.39, 17.32, 17.320, 1.01923),
]


@pytest.mark.parametrize(("save", "restart", "mtti", "young", "daly", "exact", "ratio"), TABLE)
def test_intervals_and_expected_wall_time_match_the_table(
    save: float, restart: float, mtti: float, young: float, daly: float, exact: float, ratio: float
) -> None:
    assert checkpoint.young_interval(save, mtti) == pytest.approx(young, abs=0.005)
    interval = checkpoint.daly_interval(save, mtti)
    assert interval == pytest.approx(daly, abs=0.005)
    assert checkpoint.exact_interval(save, mtti) == pytest.approx(exact, abs=0.0005)
    assert checkpoint.slowdown(interval, save, restart, mtti) == pytest.approx(ratio, abs=5e-6)


@pytest.mark.parametrize(("save", "restart", "mtti", "hours"), [(5, 10, 1440, 547.9)])
def test_five_hundred_hours_of_work_take_what_daly_says(
    save: float, restart: float, mtti: float, hours: float
) -> None:
    interval = checkpoint.daly_interval(save, mtti)
    assert 500 * checkpoint.slowdown(interval, save, restart, mtti) == pytest.approx(
        hours, abs=0.05
    )


@pytest.mark.parametrize(
    ("save", "devices", "interval", "percent"),
    [
        (2.48, 8, 1274.8, 0.4),
        (2.48, 64, 449.6, 1.1),
        (2.48, 512, 157.9, 3.3),
        (2.48, 4096, 54.8, 10.4),
        (0.105, 8, None, 0.1),
        (0.105, 64, None, 0.2),
        (0.105, 512, None, 0.8),
        (0.105, 4096, None, 2.8),
    ],
)
def test_more_devices_need_more_frequent_saves_and_lose_more(
    save: float, devices: int, interval: float | None, percent: float
) -> None:
    five_years = 5 * 365 * 24 * 60
    mtti = checkpoint.mean_time_to_interruption(five_years, devices)
    best = checkpoint.daly_interval(save, mtti)
    if interval is not None:
        assert best == pytest.approx(interval, abs=0.05)
    assert 100 * (checkpoint.slowdown(best, save, 6, mtti) - 1) == pytest.approx(percent, abs=0.05)


def test_the_first_order_of_the_overhead_holds_while_failures_are_rare() -> None:
    best = checkpoint.exact_interval(1, 1e6)
    exact = checkpoint.slowdown(best, 1, 10, 1e6) - 1
    assert checkpoint.overhead(1, 10, 1e6) == pytest.approx(exact, rel=1e-3)


def test_a_save_longer_than_twice_the_time_between_failures_gives_that_time() -> None:
    assert checkpoint.daly_interval(30, 15) == 15


@given(st.floats(0.01, 100), st.floats(1, 1e5))
def test_no_interval_beats_the_exact_one(save: float, mtti: float) -> None:
    best = checkpoint.exact_interval(save, mtti)
    least = checkpoint.slowdown(best, save, 0, mtti)
    for other in (best * 0.9, best * 1.1, checkpoint.daly_interval(save, mtti)):
        assert checkpoint.slowdown(other, save, 0, mtti) >= least * (1 - 1e-9)


@given(st.floats(-1 / math.e, 1e6))
def test_lambert_w_undoes_w_times_e_to_the_w(x: float) -> None:
    w = checkpoint.lambert_w0(x)
    assert w >= -1
    assert w * math.exp(w) == pytest.approx(x, rel=1e-9, abs=1e-12)


def test_lambert_w_has_its_known_values() -> None:
    assert checkpoint.lambert_w0(0) == 0
    assert checkpoint.lambert_w0(math.e) == pytest.approx(1)
    assert checkpoint.lambert_w0(1) == pytest.approx(0.5671432904097838)
    assert checkpoint.lambert_w0(-1 / math.e) == pytest.approx(-1, abs=1e-7)
    with pytest.raises(ValueError, match="no real value"):
        checkpoint.lambert_w0(-0.4)


@pytest.mark.parametrize(
    ("billions", "each", "gigabytes"), [(7, 12, 84), (7, 14, 98), (70, 12, 840), (70, 14, 980)]
)
def test_sizes_of_adam_checkpoints(billions: int, each: int, gigabytes: int) -> None:
    assert checkpoint.size_bytes(billions * 10**9, each) == gigabytes * 10**9


def test_530_billion_parameters_over_20_gigabits_take_42_minutes() -> None:
    seconds = checkpoint.save_seconds(checkpoint.size_bytes(530 * 10**9, 12), 20e9 / 8)
    assert seconds / 60 == pytest.approx(42.4, abs=0.05)


def test_98_gigabytes_fit_the_default_grace_period_only_above_3_3_gigabytes_a_second() -> None:
    size = checkpoint.size_bytes(7 * 10**9)
    assert checkpoint.fits_grace(checkpoint.save_seconds(size, 3.3e9))
    assert not checkpoint.fits_grace(checkpoint.save_seconds(size, 3.2e9))


def test_a_preemption_costs_the_save_where_it_fits_and_the_lost_work_where_not() -> None:
    assert checkpoint.preemption_cost(8, since_save=600, save=20, restart=60, grace=30) == 640
    assert checkpoint.preemption_cost(8, since_save=600, save=90, restart=60, grace=30) == 5280


def test_a_kill_at_an_unknown_moment_loses_half_an_interval_and_part_of_a_save() -> None:
    assert checkpoint.work_at_risk(100, 1e-9) == pytest.approx(50)
    assert checkpoint.work_at_risk(90, 10) == pytest.approx(45 + 10 * 0.1)


def test_goodput_of_a_job_that_is_moved() -> None:
    assert checkpoint.goodput_factor(age=100, restarts=0, restart=100) == 0.5
    assert checkpoint.goodput_factor(age=1e9, restarts=3, restart=100) == pytest.approx(1)
    assert checkpoint.goodput_factor(age=100, restarts=5, restart=100) == 0


@pytest.mark.parametrize("call", ["young", "daly", "exact"])
def test_times_that_are_not_above_0_are_refused(call: str) -> None:
    interval = getattr(checkpoint, f"{call}_interval")
    for save, mtti in [(0, 10), (-1, 10), (1, 0)]:
        with pytest.raises(ValueError, match="must be above 0"):
            interval(save, mtti)
