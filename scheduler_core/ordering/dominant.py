"""Dominant resource fairness (NSDI 2011): lowest dominant share next, its own ask included."""

from collections.abc import Hashable
from math import lcm
from typing import Literal

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key
from scheduler_core.ordering.weights import factors_of, weighed
from scheduler_core.resources import NOTHING, Amount
from scheduler_core.scratch import State


class Dominant:
    """By the largest (allocated + asked) ÷ capacity over GPU, CPU and memory, ÷ weight."""

    moves: Literal["never", "team", "all"] = "team"

    def __init__(self, state: State) -> None:
        self._state = state
        capacity = NOTHING
        for book in state.books:
            capacity = capacity.plus(book.capacity)
        common = lcm(*(part for part in capacity if part))
        self._scale = [common // part if part else 0 for part in capacity]
        self._factors = [factors_of(book.terms.weights) for book in state.books]
        self._use = [self._used_by(team) for team in range(len(state.tree))]

    def _used_by(self, team: int) -> Amount:
        total = NOTHING
        for book in self._state.books:
            total = total.plus(book.own[team])
        return total

    def group(self, workload: Workload) -> Hashable:
        """Return the team, the pool whose weights count, and the ask."""
        return workload.team, self._pool(workload), workload.ask

    def _pool(self, workload: Workload) -> int:
        return next(iter(self._state.pools_for(workload)), 0)

    def key(self, workload: Workload) -> Key:
        """Return the weighed dominant share with the workload."""
        team = self._state.tree.index[workload.team]
        total = self._use[team].plus(workload.ask)
        share = max(part * scale for part, scale in zip(total, self._scale, strict=True))
        factors = (
            self._factors[self._pool(workload)] if self._factors else factors_of([1] * (team + 1))
        )
        return weighed(share, factors[team])

    def refresh(self, team: int) -> None:
        """Read the team's use again."""
        self._use[team] = self._used_by(team)
