"""How much a branch of the team tree borrows, for its weight."""

from fractions import Fraction

from scheduler_core.resources import NOTHING, Amount
from scheduler_core.scratch import Book

BorrowedShare = tuple[int, Fraction]
"""Compares as the share does; infinite ones (weight 0) by what they borrow, unweighed."""


def borrowed_share(book: Book, branch: int, ask: Amount = NOTHING) -> BorrowedShare:
    """Return max(0, use − guarantee) ÷ capacity ÷ weight of the branch with the ask.

    Dominant over GPU, CPU and memory. A guarantee of GPUs brings its even part of the pool's CPU
    and memory. The branch is the team with all below it.
    """
    use = book.use_below(branch).plus(ask)
    return weighed_share(book, use, book.promised_below[branch], book.terms.weights[branch])


def own_share(book: Book, team: int, ask: Amount = NOTHING) -> BorrowedShare:
    """Return the same of the team's own row alone."""
    use = book.own[team].plus(ask)
    return weighed_share(book, use, book.entitled[team], book.terms.weights[team])


def weighed_share(book: Book, use: Amount, promised: int, weight: int | Fraction) -> BorrowedShare:
    """Return the dominant share of what exceeds the promise, for the weight."""
    capacity = book.capacity
    most = Fraction(0)
    for used, whole in zip(use, capacity, strict=True):
        if whole:
            part = Fraction(promised, capacity.gpu_milli) if capacity.gpu_milli else Fraction(0)
            most = max(most, Fraction(used, whole) - part)
    if not most:
        return (0, most)
    return (0, most / weight) if weight else (1, most)
