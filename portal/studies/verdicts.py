"""When a difference between two sides is called real.

For each seed both sides replay the same jobs, so each seed gives one difference. It is called real
when the differences of all seeds have the same sign *and* the 95 % confidence interval of their
mean, by the paired t test, leaves out zero (A. M. Law, "Simulation Modeling and Analysis",
paired-t approach with common random numbers). The signs guard against few seeds with a skewed
spread, the interval against three that agree by luck: of two equal sides, three seeds all agree in
one case of four. With fewer than three seeds nothing is called real. One figure in twenty would
still cross that line by chance, so the page says how many were compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, sqrt

LEAST_SEEDS = 3
# Two-sided 95 % points of Student's t, by degrees of freedom from 1 (any table of it).
T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


class Verdict(Enum):
    """What may be said of a difference."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNSURE = "unsure"
    ONE_RUN = "one run"


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure on both sides: means over seeds, and what may be said of the difference."""

    base: float
    changed: float
    low: float
    high: float
    agree: int
    """How many seeds differ in the direction of the mean."""
    seeds: int
    verdict: Verdict

    @property
    def difference(self) -> float:
        """Changed less base, on average."""
        return self.changed - self.base

    @property
    def is_real(self) -> bool:
        """Whether the seeds agree that something changed."""
        return self.verdict in (Verdict.BETTER, Verdict.WORSE)


def compare(base: Sequence[float], changed: Sequence[float], *, lower_is_better: bool) -> Compared:
    """Hold the two sides of a figure against each other, seed by seed."""
    differences = [after - before for before, after in zip(base, changed, strict=True)]
    count = len(differences)
    mean = sum(differences) / count if count else 0.0
    half = _half_width(differences, mean)
    low, high = mean - half, mean + half
    agree = sum(1 for one in differences if one * mean > 0)
    return Compared(
        base=sum(base) / max(1, count), changed=sum(changed) / max(1, count),
        low=low, high=high, agree=agree, seeds=count,
        verdict=_verdict(differences, mean, low, high, lower_is_better),
    )  # fmt: skip


def _half_width(differences: Sequence[float], mean: float) -> float:
    count = len(differences)
    if count < 2:
        return inf
    variance = sum((one - mean) ** 2 for one in differences) / (count - 1)
    return T_95[min(count - 1, len(T_95)) - 1] * sqrt(variance / count)


def _verdict(
    differences: Sequence[float], mean: float, low: float, high: float, lower_is_better: bool
) -> Verdict:
    if not any(differences):
        return Verdict.SAME
    if len(differences) < LEAST_SEEDS:
        return Verdict.ONE_RUN
    agreed = all(one > 0 for one in differences) or all(one < 0 for one in differences)
    if not agreed or low <= 0 <= high:
        return Verdict.UNSURE
    return Verdict.BETTER if (mean < 0) == lower_is_better else Verdict.WORSE
