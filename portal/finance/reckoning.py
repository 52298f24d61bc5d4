"""Where a pool's GPU-time went, exactly, in milli-GPU-seconds. No database, no money.

For one pool and one half-open period of whole seconds (since the epoch) this says how much of the
capacity was used by whom, held and not used, idle, in maintenance or down. It holds always that

    use (owned and unowned) + reserved-unused + idle + maintenance + down = capacity + beyond

`beyond` is use no known node can account for: more than there is, or on a node not known at that
moment. It is 0 in a true ledger, so anything else is shown in red.

Precedence, decided at every instant:
1. What pods hold is use, whatever the state of their node: a team keeps paying for what it holds.
2. What is left of a node in maintenance or down is maintenance or down.
3. What is left of ready nodes is free. Reserved-unused is the part of open reservations from the
   pool that their owners do not use, at most what is free (what others borrow of it is their
   use), split by largest remainder, ties to the reservation that began first.
4. The rest is idle. An unused guarantee, fenced by a reservation or not, is idle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from portal.finance.axis import (
    STEADY,
    Axis,
    Columns,
    Hold,
    Ints,
    UseKey,
    UseRow,
    columns,
    rows_by_place,
)
from portal.finance.unused import reserved_unused
from portal.inventory.calendar import Condition

__all__ = [
    "STEADY", "Condition", "Hold", "NodePiece", "Reckoning", "UseKey", "UseRow", "reckon", "split",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodePiece:
    """A node in one condition for a while; pieces of one node never overlap; cordoned is ready."""

    node_id: int
    milli: int
    condition: Condition
    starts: int
    ends: int


@dataclass(frozen=True, slots=True)
class Reckoning:
    """Where the GPU-time of one pool went in one period, in milli-GPU-seconds."""

    capacity: int = 0
    use: dict[UseKey, int] = field(default_factory=dict)
    reserved_unused: dict[int, int] = field(default_factory=dict)
    idle: int = 0
    maintenance: int = 0
    down: int = 0
    beyond: int = 0

    @property
    def owned(self) -> int:
        """Use by teams."""
        return sum(amount for key, amount in self.use.items() if key.team_id is not None)

    @property
    def unowned(self) -> int:
        """Use by work of no team."""
        return sum(amount for key, amount in self.use.items() if key.team_id is None)

    @property
    def accounted(self) -> int:
        """Everything but capacity, added up: equals `capacity`, or the reckoning is wrong."""
        spent = self.owned + self.unowned + sum(self.reserved_unused.values())
        return spent + self.idle + self.maintenance + self.down - self.beyond


def reckon(
    *,
    starts: int,
    ends: int,
    nodes: Sequence[NodePiece],
    use: Sequence[UseRow],
    holds: Sequence[Hold],
) -> Reckoning:
    """Account for every milli-GPU-second of a pool from `starts` until `ends`."""
    if ends <= starts:
        return Reckoning()
    used = columns(use)
    axis = Axis(starts, ends, [_bounds(nodes), _bounds(holds), used.starts, used.ends])
    # 1. What pods hold.
    held = axis.level(used.starts, used.ends, used.milli)
    # 2. What is left of nodes that are not ready, and what no node accounts for.
    aside = _aside(axis, nodes, used)
    # 3. What is free on ready nodes, and how much of it is held by reservations.
    spare = _levels(axis, nodes, Condition.READY) - (held - aside.held)
    free = np.maximum(spare, 0)
    unused = reserved_unused(axis=axis, use=used, holds=holds, free=free)
    # 4. The rest is idle.
    return Reckoning(
        capacity=sum(axis.total(_levels(axis, nodes, condition)) for condition in Condition),
        use=_use_by_key(axis, used),
        reserved_unused=unused,
        idle=axis.total(free) - sum(unused.values()),
        maintenance=aside.maintenance,
        down=aside.down,
        beyond=aside.beyond + axis.total(np.maximum(-spare, 0)),
    )


def split(amount: int, weights: Sequence[int]) -> list[int]:
    """Split a whole amount in proportion by largest remainder; ties to the earlier one."""
    total = sum(weights)
    if total <= 0:
        return [0] * len(weights)
    shares = [amount * weight // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(amount * weights[i] % total), i))
    for i in order[: amount - sum(shares)]:
        shares[i] += 1
    return shares


def _bounds(spans: Sequence[NodePiece] | Sequence[Hold]) -> Ints:
    return np.array([(s.starts, s.ends) for s in spans], dtype=np.int64).ravel()


def _levels(axis: Axis, nodes: Sequence[NodePiece], condition: Condition) -> Ints:
    chosen = [(p.starts, p.ends, p.milli) for p in nodes if p.condition is condition]
    table = np.array(chosen, dtype=np.int64).reshape(-1, 3)
    return axis.level(table[:, 0], table[:, 1], table[:, 2])


def _use_by_key(axis: Axis, use: Columns) -> dict[UseKey, int]:
    sums = np.zeros(len(use.keys), dtype=np.int64)
    np.add.at(sums, use.key, use.milli * axis.inside(use.starts, use.ends))
    return {key: int(amount) for key, amount in zip(use.keys, sums, strict=True) if amount}


@dataclass(slots=True)
class _Aside:
    """Nodes while they were not ready: what was held there, what was left, what was too much."""

    held: Ints
    maintenance: int = 0
    down: int = 0
    beyond: int = 0


def _aside(axis: Axis, nodes: Sequence[NodePiece], use: Columns) -> _Aside:
    """Walk the nodes that were not ready all along, one by one."""
    aside = _Aside(held=np.zeros(len(axis.seconds), dtype=np.int64))
    rows = rows_by_place(use)
    never_mind = np.array([], dtype=np.int64)
    pieces: dict[int, list[NodePiece]] = {node_id: [] for node_id in rows}
    for piece in nodes:
        pieces.setdefault(piece.node_id, []).append(piece)
    for node_id, own in pieces.items():
        if node_id not in rows and all(p.condition is Condition.READY for p in own):
            continue
        mine = rows.get(node_id, never_mind)
        _set_aside(aside, axis, axis.level(use.starts[mine], use.ends[mine], use.milli[mine]), own)
    return aside


def _set_aside(aside: _Aside, axis: Axis, held: Ints, pieces: Sequence[NodePiece]) -> None:
    """Add one node's account for as long as it was in maintenance, down, or not known at all."""
    resting = _levels(axis, pieces, Condition.MAINTENANCE)
    down = _levels(axis, pieces, Condition.DOWN)
    away = np.ones(len(axis.seconds), dtype=np.bool_)
    for piece in pieces:
        if piece.condition is Condition.READY:
            away[slice(*axis.index(np.array([piece.starts, piece.ends], dtype=np.int64)))] = False
    left = np.where(away, resting + down - held, 0)
    over = np.maximum(left, 0)
    aside.held += np.where(away, held, 0)
    aside.maintenance += axis.total(np.where(resting > 0, over, 0))
    aside.down += axis.total(np.where(resting > 0, 0, over))
    aside.beyond += axis.total(np.maximum(-left, 0))
