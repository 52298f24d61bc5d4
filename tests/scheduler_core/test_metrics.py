"""Published values of the formulas come out."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import metrics
from scheduler_core.metrics.fragmentation import Kind
from scheduler_core.resources import Amount

WEEK = 604_800


class TestJain:
    @pytest.mark.parametrize(
        ("values", "index"),
        [
            ([1, 1, 1, 1], 1),
            ([1, 0, 0, 0], 1 / 4),
            ([3, 3, 0, 0, 0], 2 / 5),
            ([2, 1, 1], 8 / 9),
            ([4, 2, 1, 1], 8 / 11),
            ([1, 2, 3, 4], 5 / 6),
            ([0, 0], 1),
            ([], 1),
        ],
    )
    def test_published_values(self, values: list[int], index: float) -> None:
        assert metrics.jain(values) == pytest.approx(index)

    @given(st.lists(st.integers(0, 1000), min_size=1), st.integers(1, 50))
    def test_does_not_depend_on_the_scale(self, values: list[int], scale: int) -> None:
        assert metrics.jain(values) == metrics.jain([value * scale for value in values])


class TestDecay:
    def test_half_is_gone_after_a_half_life(self) -> None:
        assert metrics.decayed(1000, WEEK, WEEK) == 500

    @pytest.mark.parametrize(("seconds", "factor"), [(300, 0.999656), (86_400, 0.905724)])
    def test_slurm_factors(self, seconds: int, factor: float) -> None:
        assert metrics.decayed(1, seconds, WEEK) == pytest.approx(factor, abs=5e-7)

    def test_time_running_backwards_counts_as_none(self) -> None:
        assert metrics.decayed(1000, -5, WEEK) == 1000

    @given(st.integers(0, 10**6), st.integers(0, 10**6))
    def test_two_steps_equal_one(self, first: int, second: int) -> None:
        twice = metrics.decayed(metrics.decayed(1e6, first, WEEK), second, WEEK)
        assert twice == pytest.approx(metrics.decayed(1e6, first + second, WEEK))

    def test_a_capacity_always_in_use_has_share_one(self) -> None:
        settled = round(8 * WEEK / 0.6931471805599453)
        assert metrics.usage_share(settled, 8000, WEEK) == pytest.approx(1, abs=1e-6)


def test_dominant_share_leaves_out_what_there_is_none_of() -> None:
    assert metrics.exact_max(Amount(0, 3, 1), Amount(0, 9, 18)) == Fraction(1, 3)


class TestFragmentation:
    KINDS = (
        (Kind(4000, 300, 1), 0.5),
        (Kind(4000, 1000, 1), 0.3),
        (Kind(20_000, 500, 1), 0.1),
        (Kind(4000, 0, 0), 0.1),
    )

    @pytest.mark.parametrize(
        ("free", "cpu", "expected"),
        [([1000, 500], 10_000, 450), ([1000, 0], 6000, 200), ([500, 500], 6000, 500)],
    )
    def test_the_papers_hand_check(self, free: list[int], cpu: int, expected: float) -> None:
        assert metrics.fragmentation(free, cpu, None, self.KINDS) == pytest.approx(expected)

    def test_typical_kinds_cover_what_was_asked(self) -> None:
        kinds = metrics.typical_kinds([(Kind(1, 1, 1), 90), (Kind(2, 2, 1), 8), (Kind(3, 3, 1), 2)])
        assert kinds == ((Kind(1, 1, 1), 90 / 98), (Kind(2, 2, 1), 8 / 98))
