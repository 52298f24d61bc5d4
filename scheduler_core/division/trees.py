"""Division over the team tree of one pool: children divide what their parent got."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from scheduler_core.division.levels import divide
from scheduler_core.metrics import TeamTree
from scheduler_core.model import Division, DivisionTeam, Number
from scheduler_core.resources import DEVICE


@dataclass(frozen=True, slots=True)
class Claims:
    """What each team claims in one pool, by team number, in milli-GPU.

    `guaranteed` and `requests` are each team's own; a limit caps the team and all below it.
    `used` is the share of the organisation's capacity each subtree used, 0 to 1.
    """

    guaranteed: Sequence[int]
    requests: Sequence[int]
    limits: Sequence[int | None]
    weights: Sequence[Number]
    used: Sequence[Fraction]


def fair_shares(
    tree: TeamTree, claims: Claims, capacity_milli: int, *, k: Number, whole_devices: bool
) -> list[int]:
    """Return each team's own fair share in milli-GPU.

    A team with children takes part among them with its own row, at weight 1, so that the shares
    of all rows sum to what was divided. With `whole_devices` nobody gets part of a device.
    """
    return _Tree(tree, claims, k, DEVICE if whole_devices else 1).shares(capacity_milli)


class _Tree:
    def __init__(self, tree: TeamTree, claims: Claims, k: Number, unit: int) -> None:
        self._tree = tree
        self._claims = claims
        self._k = k
        self._unit = unit
        self._guaranteed = tree.subtree_sums([one // unit for one in claims.guaranteed])
        self._requests = self._capped_requests()

    def shares(self, capacity_milli: int) -> list[int]:
        answer = [0] * len(self._tree)
        level = [(self._tree.top, capacity_milli // self._unit, -1)]
        while level:
            teams, total, owner = level.pop()
            claimants = [self._claimant(number) for number in teams]
            if owner >= 0:
                claimants.append(self._own_claimant(owner))
            got = divide(Division(total, tuple(claimants), self._k)).shares
            if owner >= 0:
                answer[owner] = got[""] * self._unit
            for number in teams:
                share = got[self._tree.teams[number].name]
                if self._tree.is_leaf(number):
                    answer[number] = share * self._unit
                elif share:
                    level.append((self._tree.children[number], share, number))
        return answer

    def _capped_requests(self) -> list[int]:
        """Return each subtree's request, capped by the limits inside it."""
        sums = [-(-one // self._unit) for one in self._claims.requests]
        for number in self._tree.upward:
            limit = self._limit(number)
            if limit is not None:
                sums[number] = min(sums[number], limit)
            if self._tree.parent[number] >= 0:
                sums[self._tree.parent[number]] += sums[number]
        return sums

    def _limit(self, number: int) -> int | None:
        limit = self._claims.limits[number]
        return None if limit is None else limit // self._unit

    def _claimant(self, number: int) -> DivisionTeam:
        team = self._tree.teams[number]
        return DivisionTeam(
            name=team.name,
            request=self._requests[number],
            guaranteed=self._guaranteed[number],
            limit=self._limit(number),
            weight=self._claims.weights[number],
            priority=team.priority,
            used=self._claims.used[number],
        )

    def _own_claimant(self, number: int) -> DivisionTeam:
        children = sum(self._claims.used[child] for child in self._tree.children[number])
        return DivisionTeam(
            name="",
            request=-(-self._claims.requests[number] // self._unit),
            guaranteed=self._claims.guaranteed[number] // self._unit,
            limit=self._limit(number),
            used=max(Fraction(0), self._claims.used[number] - children),
        )
