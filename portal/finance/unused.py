"""How much of open reservations from the pool nobody uses. No database."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from portal.finance.axis import Axis, Columns, Hold, Ints, UseKey

RESERVED = "reserved"
"""What use of a reservation from the pool is charged to."""


def reserved_unused(
    *, axis: Axis, use: Columns, holds: Sequence[Hold], free: Ints
) -> dict[int, int]:
    """Milli-GPU-seconds held and used by nobody, by reservation.

    `free` is what is free on ready nodes at each step: more than that cannot be unused, because
    somebody borrows it. Shared by largest remainder, ties to the reservation that began first.
    """
    holds = sorted(holds, key=lambda h: (h.starts, h.reservation_id))
    totals = dict.fromkeys((h.reservation_id for h in holds), 0)
    bounds = np.array([(h.starts, h.ends) for h in holds], dtype=np.int64).ravel()
    used = _ReservedUse(axis, use)
    for first, last in pairwise(np.unique(axis.index(bounds)).tolist()):
        starts, ends = axis.edges[first], axis.edges[last]
        open_now = [h for h in holds if h.starts <= starts and h.ends >= ends]
        if not open_now:
            continue
        span = slice(first, last)
        parts = _split_over_time(free[span], used.left_over(open_now, span))
        for hold, part in zip(open_now, parts, strict=True):
            totals[hold.reservation_id] += int(np.dot(part, axis.seconds[span]))
    return {reservation_id: amount for reservation_id, amount in totals.items() if amount}


class _ReservedUse:
    """What owners use of their reservations over time.

    Use that names an open reservation fills that one; the rest of what the team is charged as
    reserved (unnamed, or more than the one it names holds) fills its others, oldest first.
    """

    def __init__(self, axis: Axis, use: Columns) -> None:
        self._axis = axis
        self._use = use
        self._levels: dict[UseKey, Ints] = {}

    def left_over(self, holds: Sequence[Hold], span: slice) -> list[Ints]:
        """What is unused of each of these open reservations, step by step."""
        steps = span.stop - span.start
        unused = [np.full(steps, h.milli, dtype=np.int64) for h in holds]
        rest = {h.team_id: np.zeros(steps, dtype=np.int64) for h in holds}
        by_id = {(h.team_id, h.reservation_id): i for i, h in enumerate(holds)}
        for key in self._use.keys:
            if key.charged_to != RESERVED or key.team_id is None or key.team_id not in rest:
                continue
            amount = self._level(key)[span]
            named = by_id.get((key.team_id, key.reservation_id or 0))
            if named is not None:
                amount = _fill(unused, named, amount)
            rest[key.team_id] += amount
        for i, hold in enumerate(holds):
            rest[hold.team_id] = _fill(unused, i, rest[hold.team_id])
        return unused

    def _level(self, key: UseKey) -> Ints:
        if key not in self._levels:
            mine = self._use.key == self._use.keys.index(key)
            self._levels[key] = self._axis.level(
                self._use.starts[mine], self._use.ends[mine], self._use.milli[mine]
            )
        return self._levels[key]


def _fill(unused: list[Ints], which: int, amount: Ints) -> Ints:
    """Take use out of what is unused of one reservation; give back what is more than it held."""
    taken = np.clip(amount, 0, unused[which])
    unused[which] = unused[which] - taken
    return amount - taken


def _split_over_time(free: Ints, wanted: Sequence[Ints]) -> list[Ints]:
    """Split what is free among what is wanted, step by step, by largest remainder."""
    table = np.stack(wanted)
    total = table.sum(axis=0)
    scarce = np.minimum(free, total)
    divisor = np.maximum(total, 1)
    shares = scarce * table // divisor
    remainders = scarce * table % divisor
    order = np.argsort(-remainders, axis=0, kind="stable")
    rank = np.argsort(order, axis=0, kind="stable")
    shares += rank < (scarce - shares.sum(axis=0))
    return list(shares)
