"""Use per team in one pool, and what it leaves to use: limits, entitlement, §3.4 of the rules.

Figures are milli-GPU unless said otherwise. Borrowing and lending follow Kueue's quota tree: what
a subtree keeps (`kept`) is never lent, use walks up only with what exceeds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_core.metrics import TeamTree
from scheduler_core.metrics.tree import ROOT
from scheduler_core.model import Number
from scheduler_core.resources import NOTHING, Amount


@dataclass(frozen=True, slots=True)
class Entitlement:
    """What the teams are promised and allowed in one pool at one moment, by team number.

    `reserved` is open reservations from the pool, `fenced` those from the team's own guarantee.
    `has_quota` tells teams with a quota of 0 from teams with none.
    """

    guaranteed: Sequence[int]
    reserved: Sequence[int]
    fenced: Sequence[int]
    limits: Sequence[int | None]
    borrowing: Sequence[int | None]
    lending: Sequence[int | None]
    per_user: Sequence[int | None]
    weights: Sequence[Number]
    has_quota: Sequence[bool]


class Book:
    """What every team uses in one pool.

    `own` is each team's use of all resources, `below` the milli-GPU of its whole subtree, `firm`
    its non-preemptible milli-GPU, `named` what workloads that name a fencing reservation use.
    `touched` lists every team whose use changed, change after change.
    """

    def __init__(self, tree: TeamTree, entitlement: Entitlement, capacity: Amount) -> None:
        size = len(tree)
        self._tree = tree
        self.own: list[Amount] = [NOTHING] * size
        self.below: list[int] = [0] * size
        self.cpu_below: list[int] = [0] * size
        self.memory_below: list[int] = [0] * size
        self.touched: list[int] = []
        self.firm: list[int] = [0] * size
        self.named: list[int] = [0] * size
        self.people: dict[tuple[int, str], int] = {}
        self._usage: list[int] = [0] * size
        self._root_usage = 0
        self.out_of_service = 0
        self.agree(entitlement, capacity)

    def agree(self, entitlement: Entitlement, capacity: Amount) -> None:
        """Take over what is promised now; use stays as it is."""
        tree = self._tree
        self.terms = entitlement
        self.capacity = capacity
        self.entitled = [
            guaranteed + reserved
            for guaranteed, reserved in zip(
                entitlement.guaranteed, entitlement.reserved, strict=True
            )
        ]
        self._promised = sum(self.entitled)
        self.promised_below = tree.subtree_sums(self.entitled)
        self.subtree = list(self.entitled)
        self.kept = [0] * len(tree)
        for number in tree.upward:
            lending = entitlement.lending[number]
            if lending is not None:
                self.kept[number] = max(0, self.subtree[number] - lending)
            if tree.parent[number] != ROOT:
                self.subtree[tree.parent[number]] += self.subtree[number] - self.kept[number]
        self._lent = sum(self.subtree[number] - self.kept[number] for number in tree.top)
        self._usage = self._usage_from_scratch()

    def _usage_from_scratch(self) -> list[int]:
        usage = [amount.gpu_milli for amount in self.own]
        self._root_usage = 0
        for number in self._tree.upward:
            excess = max(0, usage[number] - self.kept[number])
            if self._tree.parent[number] == ROOT:
                self._root_usage += excess
            else:
                usage[self._tree.parent[number]] += excess
        return usage

    def add(self, team: int, amount: Amount, sign: int = 1) -> None:
        """Count the amount to the team's use, or with `sign` -1 off it."""
        self.own[team] = self.own[team].plus(amount) if sign > 0 else self.own[team].minus(amount)
        self.touched.append(team)
        milli = step = sign * amount.gpu_milli
        cpu, memory = sign * amount.cpu_milli, sign * amount.memory_mib
        for number in self._tree.paths[team]:
            self.below[number] += milli
            self.cpu_below[number] += cpu
            self.memory_below[number] += memory
            before = max(0, self._usage[number] - self.kept[number])
            self._usage[number] += step
            step = max(0, self._usage[number] - self.kept[number]) - before
        self._root_usage += step

    def use(self, own: Sequence[Amount]) -> None:
        """Take over what each team uses, for what-ifs; only `own` and what follows from it."""
        self.own = list(own)
        self.touched.clear()
        self.below = self._tree.subtree_sums([amount.gpu_milli for amount in own])
        self._usage = self._usage_from_scratch()

    def breaks_limit(self, team: int, milli: int) -> int | None:
        """Return the first team up the path whose limit the ask would break, else None."""
        for number in self._tree.paths[team]:
            limit = self.terms.limits[number]
            if limit is not None and self.below[number] + milli > limit:
                return number
        return None

    def breaks_user_limit(self, team: int, user: str | None, milli: int) -> bool:
        """Tell whether the ask would break what one person may use of the team's quota."""
        limit = self.terms.per_user[team]
        if user is None or limit is None:
            return False
        return self.people.get((team, user), 0) + milli > limit

    def fence(self, team: int) -> int:
        """Return what is kept of the guarantee for work that names the reservation, unused yet."""
        return max(0, self.terms.fenced[team] - self.named[team])

    def within_guarantee(self, team: int, milli: int) -> bool:
        """Tell whether the team stays within what it is entitled to with so much more."""
        return self.own[team].gpu_milli + milli <= self.entitled[team]

    def available(self, team: int) -> int:
        """Return what the team can still use, its own and borrowed, never below zero (§3.4)."""
        path = self._tree.paths[team]
        left = self._root_subtree() - self._root_usage
        for number in reversed(path):
            kept, usage = self.kept[number], self._usage[number]
            borrowing = self.terms.borrowing[number]
            if borrowing is not None:
                own_part = self.subtree[number] - kept - max(0, usage - kept)
                left = min(left, own_part + borrowing)
            left += max(0, kept - usage)
        return max(0, left)

    def breaks_borrowing_limit(self, team: int, milli: int) -> int | None:
        """Return the first team up the path that would borrow above its limit, else None."""
        for number in self._tree.paths[team]:
            borrowing = self.terms.borrowing[number]
            spare = max(0, self.kept[number] - self._usage[number])
            if milli <= spare:
                return None
            ceiling = None if borrowing is None else self.subtree[number] + borrowing
            if ceiling is not None and self._usage[number] + milli > ceiling:
                return number
            milli -= spare
        return None

    def _root_subtree(self) -> int:
        return self._lent + self.unpromised()

    def unpromised(self) -> int:
        """Return the capacity nobody was promised; all may borrow it."""
        return max(0, self.capacity.gpu_milli + self.out_of_service - self._promised)

    def is_above(self, team: int) -> bool:
        """Tell whether the team's own row uses more than it is entitled to.

        A team that is entitled to nothing and uses no GPU is above with any CPU or memory.
        """
        return _above(self.own[team], self.entitled[team])

    def is_branch_above(self, team: int) -> bool:
        """Tell whether the team with all below it uses more than they are entitled to."""
        used, promised = self.below[team], self.promised_below[team]
        return used > promised or not (used or promised)

    def use_below(self, team: int) -> Amount:
        """Return what the subtree uses of each resource."""
        return Amount(self.below[team], self.cpu_below[team], self.memory_below[team])


def _above(use: Amount, entitled: int) -> bool:
    if use.gpu_milli or entitled:
        return use.gpu_milli > entitled
    return use != NOTHING
