"""Weights turned into whole factors, so that use ÷ weight compares exactly and fast."""

from collections.abc import Sequence
from fractions import Fraction
from math import inf, lcm

from scheduler_core.model import Number


def factors_of(weights: Sequence[Number]) -> list[int | float]:
    """Return, for each weight, a whole factor f so that a ÷ w orders like a × f.

    A weight of 0 gets an infinite factor: whoever has it comes last once it uses anything.
    """
    exact = [Fraction(weight) for weight in weights]
    common = lcm(*(weight.numerator for weight in exact if weight))
    return [common // weight.numerator * weight.denominator if weight else inf for weight in exact]


def weighed(amount: int, factor: int | float) -> int | float:
    """Return amount × factor; with an infinite factor infinity, even for no use at all."""
    return inf if factor == inf else amount * factor
