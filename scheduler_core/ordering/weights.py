"""Weights turned into whole factors, so that use ÷ weight compares exactly and fast."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, lcm

from scheduler_core.model import Number


def factors_of(weights: Sequence[Number]) -> list[int | None]:
    """Return, for each weight, a whole factor f so that a ÷ w orders like a × f.

    A weight of 0 gets None: use for it is infinite.
    """
    exact = [Fraction(weight) for weight in weights]
    common = lcm(*(weight.numerator for weight in exact if weight))
    return [common // weight.numerator * weight.denominator if weight else None for weight in exact]


def weighed(amount: int, factor: int | None) -> int | float:
    """Return amount × factor; without a factor infinity, so that it comes last even unused."""
    return inf if factor is None else amount * factor
