"""Slurm's Fair Tree: siblings ranked by share ÷ use, depth first.

A branch that used less than its share goes ahead of its siblings with everything below it. Tied
branches are merged and their children ranked together; a leaf tied with a branch shares the rank
of the branch's best leaf.
"""

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Literal

from scheduler_core.metrics import TeamTree
from scheduler_core.model import Number, Workload
from scheduler_core.ordering.base import Key
from scheduler_core.scratch import State


class FairTree:
    """Highest factor first; a parent's own work stands behind its children's."""

    moves: Literal["never", "team", "all"] = "all"

    def __init__(self, state: State) -> None:
        self._state = state
        self._ranks: list[Fraction] | None = None

    def group(self, workload: Workload) -> Hashable:
        """Return the team."""
        return workload.team

    def key(self, workload: Workload) -> Key:
        """Return the factor, negated, and for a parent's own work how far up it stands."""
        if self._ranks is None:
            self._ranks = self._rank_all()
        team = self._state.tree.index[workload.team]
        return (-self._ranks[team], -len(self._state.tree.paths[team]))

    def _rank_all(self) -> list[Fraction]:
        tree = self._state.tree
        found = factors(tree, [team.weight for team in tree.teams], self._state.used)
        ranks = [Fraction(0)] * len(tree)
        for number in tree.upward:
            own = found[number]
            below = [ranks[child] for child in tree.children[number]]
            ranks[number] = min(below) if own is None else own
        return ranks

    def refresh(self, team: int) -> None:
        """Rank anew when next asked."""
        del team
        self._ranks = None


def factors(
    tree: TeamTree, weights: Sequence[Number], used: Sequence[int]
) -> list[Fraction | None]:
    """Return rank ÷ leaves for each leaf, 1 for the best; None for parents.

    `used` is each team's own decayed use, by team number. Equal factors share the better rank.
    """
    return _Ranking(tree, weights, used).factors()


class _Ranking:
    def __init__(self, tree: TeamTree, weights: Sequence[Number], used: Sequence[int]) -> None:
        self._tree = tree
        self._weights = weights
        self._below = tree.subtree_sums(used)
        self._leaves = sum(tree.is_leaf(number) for number in range(len(tree)))
        self._ranked = 0
        self._answer: list[Fraction | None] = [None] * len(tree)

    def factors(self) -> list[Fraction | None]:
        self._rank([self._tree.top], None)
        return self._answer

    def _rank(self, families: Sequence[Sequence[int]], shared: int | None) -> None:
        """Rank the members of all families together; `shared` is the rank of the best, if tied."""
        level = {number: factor for family in families for number, factor in self._level(family)}
        order = sorted(level, key=lambda number: level[number], reverse=True)
        for _, group in groupby(order, key=level.__getitem__):
            tied = list(group)
            leaves = [number for number in tied if self._tree.is_leaf(number)]
            parents = [self._tree.children[number] for number in tied if number not in leaves]
            best = self._leaves - self._ranked if shared is None else shared
            for leaf in leaves:
                self._answer[leaf] = Fraction(best, self._leaves)
            self._ranked += len(leaves)
            if parents:
                self._rank(parents, best if leaves or shared is not None else None)
            shared = None

    def _level(self, family: Sequence[int]) -> Iterator[tuple[int, tuple[int, Fraction]]]:
        """Yield each sibling's share ÷ use: infinite without use, 0 without share."""
        weights = sum(Fraction(self._weights[number]) for number in family)
        used = sum(self._below[number] for number in family)
        for number in family:
            if not self._weights[number]:
                yield number, (0, Fraction(0))
            elif not self._below[number]:
                yield number, (2, Fraction(0))
            else:
                share = Fraction(self._weights[number]) / weights
                yield number, (1, share * used / self._below[number])
