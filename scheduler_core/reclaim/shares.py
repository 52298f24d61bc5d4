"""How much the branches of the team tree borrow, for their weights, in whole numbers."""

from math import lcm

from scheduler_core.ordering.weights import factors_of
from scheduler_core.resources import NOTHING, Amount
from scheduler_core.scratch import Book

Share = tuple[int, int]
"""Compares as the share does; infinite ones (weight 0) by what they borrow, unweighed."""


class Shares:
    """Shares of one pool: max(0, use − guarantee) ÷ capacity ÷ weight, in a common unit.

    Dominant over GPU, CPU and memory. A guarantee of GPUs brings its even part of the pool's CPU
    and memory.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        common = lcm(*(part for part in book.capacity if part))
        self._scale = tuple(common // part if part else 0 for part in book.capacity)
        self._factors = factors_of(book.terms.weights)

    def of_branch(self, branch: int, ask: Amount = NOTHING) -> Share:
        """Return the share of the team with all below it, with the ask."""
        book = self._book
        use = (book.below[branch], book.cpu_below[branch], book.memory_below[branch])
        return self._share(branch, use, book.promised_below[branch], ask)

    def of_team(self, team: int, ask: Amount = NOTHING) -> Share:
        """Return the share of the team's own row alone, with the ask."""
        return self._share(team, self._book.own[team], self._book.entitled[team], ask)

    def _share(self, number: int, use: tuple[int, int, int], promised: int, ask: Amount) -> Share:
        gpu, cpu, memory = self._scale
        most = max((use[0] + ask[0]) * gpu, (use[1] + ask[1]) * cpu, (use[2] + ask[2]) * memory)
        most -= promised * gpu
        if most <= 0:
            return (0, 0)
        factor = self._factors[number]
        return (1, most) if factor is None else (0, most * factor)
