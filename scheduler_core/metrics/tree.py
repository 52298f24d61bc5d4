"""The team tree by number, under one invisible root."""

from collections.abc import Sequence

from scheduler_core.model import Team

ROOT = -1
"""The parent of every top-level team."""


class TeamTree:
    """Teams numbered in the order of the list, with parents, children and paths.

    Numbers index every list kept per team. `path(i)` runs from the team up to its top-level
    ancestor; `upward` lists children before their parents.
    """

    def __init__(self, teams: Sequence[Team]) -> None:
        self.teams = tuple(teams)
        self.index = {team.name: number for number, team in enumerate(self.teams)}
        self.parent = [
            ROOT if team.parent is None else self.index[team.parent] for team in self.teams
        ]
        self.children: list[list[int]] = [[] for _ in self.teams]
        self.top: list[int] = []
        for number, parent in enumerate(self.parent):
            (self.top if parent == ROOT else self.children[parent]).append(number)
        self.paths = [self._climb(number) for number in range(len(self.teams))]
        self.upward = sorted(range(len(self.teams)), key=lambda one: -len(self.paths[one]))

    def __len__(self) -> int:
        return len(self.teams)

    def _climb(self, number: int) -> tuple[int, ...]:
        path = []
        while number != ROOT:
            path.append(number)
            number = self.parent[number]
        return tuple(path)

    def is_leaf(self, number: int) -> bool:
        """Tell whether the team has no children."""
        return not self.children[number]

    def branches(self, one: int, other: int) -> tuple[int, int]:
        """Return the two children of the lowest common ancestor, on either side.

        Where one is an ancestor of the other (or both are one team), its side is the team itself.
        """
        mine, theirs = self.paths[one][::-1], self.paths[other][::-1]
        depth = 0
        while depth < min(len(mine), len(theirs)) and mine[depth] == theirs[depth]:
            depth += 1
        return (
            mine[depth] if depth < len(mine) else one,
            theirs[depth] if depth < len(theirs) else other,
        )

    def subtree_sums(self, own: Sequence[int]) -> list[int]:
        """Return, for each team, its own figure and those of all below it."""
        sums = list(own)
        for number in self.upward:
            if self.parent[number] != ROOT:
                sums[self.parent[number]] += sums[number]
        return sums
