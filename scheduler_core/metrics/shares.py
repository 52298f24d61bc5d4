"""Shares of several resources at once, and how even a set of shares is."""

from collections.abc import Sequence
from fractions import Fraction

from scheduler_core.resources import Amount


def exact_max(amount: Amount, capacity: Amount) -> Fraction:
    """Return the dominant share: the largest amount ÷ capacity (DRF, NSDI 2011).

    A resource the capacity has none of is left out.
    """
    return max(
        (Fraction(part, whole) for part, whole in zip(amount, capacity, strict=True) if whole),
        default=Fraction(0),
    )


def dominant_share(amount: Amount, capacity: Amount) -> float:
    """Return the dominant share for showing."""
    return float(exact_max(amount, capacity))


def satisfaction(allocated: Amount, request: Amount) -> Fraction:
    """Return the smallest allocated ÷ request over the resources; 1 when nothing is requested."""
    return min(
        (Fraction(part, whole) for part, whole in zip(allocated, request, strict=True) if whole),
        default=Fraction(1),
    )


def jain(values: Sequence[int | Fraction]) -> float:
    """Return Jain's index (Σx)² ÷ (n Σx²): 1 when all are equal, 1/n when one has everything."""
    squares = sum(value * value for value in values)
    if not squares:
        return 1.0
    total = sum(values)
    return float(Fraction(total * total) / (len(values) * squares))
