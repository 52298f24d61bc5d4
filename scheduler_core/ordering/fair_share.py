"""Least decayed use for its weight first, from the root of the team tree down."""

from collections.abc import Hashable
from typing import Literal

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key
from scheduler_core.ordering.weights import factors_of, weighed
from scheduler_core.scratch import State


class FairShare:
    """By decayed use ÷ weight of each team on the way from the root to the workload's own.

    A team that also has children stands among them with its own use, at weight 1.
    """

    moves: Literal["never", "team", "all"] = "team"

    def __init__(self, state: State) -> None:
        self._state = state
        self._own = list(state.used)
        self._below = state.tree.subtree_sums(self._own)
        self._factors = [factors_of([*book.terms.weights, 1]) for book in state.books]

    def group(self, workload: Workload) -> Hashable:
        """Return the team and the pool whose weights count."""
        return workload.team, self._pool(workload)

    def _pool(self, workload: Workload) -> int:
        return next(iter(self._state.pools_for(workload)), 0)

    def key(self, workload: Workload) -> Key:
        """Return the weighed use at each level from the root down."""
        tree = self._state.tree
        team = tree.index[workload.team]
        pool = self._pool(workload)
        factors = self._factors[pool] if self._factors else factors_of([1] * (len(tree) + 1))
        key = [weighed(self._below[one], factors[one]) for one in reversed(tree.paths[team])]
        if not tree.is_leaf(team):
            key.append(weighed(self._own[team], factors[-1]))
        return tuple(key)

    def refresh(self, team: int) -> None:
        """Carry what the team was charged up its path."""
        more = self._state.used[team] - self._own[team]
        self._own[team] += more
        for number in self._state.tree.paths[team]:
            self._below[number] += more
