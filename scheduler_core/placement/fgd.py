"""Fragmentation gradient descent: put a task where it leaves the least unusable GPU behind.

Score of a node: floor(100 · sigmoid((F before − F after) / 1000)), F in milli-GPU. A share goes to
the device of the best score, lowest index of equals (Weng et al., USENIX ATC'23, algorithm 1).
Two details carry the result and are kept: the score is floored, and equal scores go to a fixed
order of nodes. `floored=False` compares the gradient itself, to show what the floor is worth.
"""

import math
from typing import NamedTuple

import numpy as np

from scheduler_core.placement.demands import INFEASIBLE, DemandTable, FreeNode, IntArray, State
from scheduler_core.placement.fragmentation import REMEMBERED_STATES, Typical
from scheduler_core.placement.scoring import first_best, whole_devices
from scheduler_core.resources import DEVICE

# floor(100 · sigmoid(x)) is at least t exactly where x ≥ ln(t / (100 − t)): comparing with these
# needs no exponential, whose last digit differs between machines.
LOGITS = np.array([math.log(t / (100 - t)) for t in range(1, 100)])


class Outcome(NamedTuple):
    """The scores of a node in one state: by demand, and of shares by the device's free milli.

    `grid` has a row a share demand and a column an entry of `free`.
    """

    column: IntArray
    grid: IntArray
    free: tuple[int, ...]


class Fgd:
    """Scores by the change of fragmentation."""

    def __init__(self, table: DemandTable, typical: Typical, *, floored: bool = True) -> None:
        self.table = table
        self.typical = typical
        self.floored = floored
        self._steps = LOGITS * (DEVICE * typical.weight)
        self._known: dict[State, Outcome] = {}
        self._share_row = {int(plain): row for row, plain in enumerate(table.shares)}

    def column(self, node: FreeNode) -> IntArray:
        """Return the score of every demand of the table on this node."""
        return self._outcome(node).column

    def choose(self, row: IntArray) -> int | None:
        """Return the first node of the best score, or None when no node can."""
        return first_best(row)

    def devices(self, node: FreeNode, index: int) -> list[int]:
        """Return the device of the best score, or the whole free ones of lowest index."""
        demand = self.table.demands[index]
        if not demand.is_share:
            return whole_devices(node.gpus, demand.devices)
        outcome = self._outcome(node)
        row = outcome.grid[self._share_row[int(self.table.plain_of[index])]]
        best = row.max()
        good = {free for free, score in zip(outcome.free, row, strict=True) if score == best}
        return [next(place for place, free in enumerate(node.gpus) if free in good)]

    def _outcome(self, node: FreeNode) -> Outcome:
        state = node.state()
        known = self._known.get(state)
        if known is None:
            if len(self._known) >= REMEMBERED_STATES:
                self._known.clear()
            known = self._known[state] = self._score(node)
        return known

    def _score(self, node: FreeNode) -> Outcome:
        """Try every demand on every distinct device of the node at once."""
        table = self.table
        free = np.array(sorted(set(node.gpus)), np.int64)
        fits = table.fits(node)
        others = table.others[fits[table.others]]
        rows, places = np.nonzero(
            (table.milli[table.shares, None] <= free) & fits[table.shares, None]
        )
        shares = table.shares[rows]
        before = np.concatenate([np.full(len(others), DEVICE), free[places]])
        after = np.concatenate(
            [np.zeros(len(others), np.int64), free[places] - table.milli[shares]]
        )
        scores = self._grade(node, np.concatenate([others, shares]), before, after)

        grid = np.full((len(table.shares), len(free)), INFEASIBLE)
        grid[rows, places] = scores[len(others) :]
        plain = np.full(len(table.cpu), INFEASIBLE)
        plain[others] = scores[: len(others)]
        plain[table.shares] = grid.max(axis=1, initial=INFEASIBLE)
        return Outcome(table.spread(plain, node.model), grid, tuple(free.tolist()))

    def _grade(
        self, node: FreeNode, demands: IntArray, before: IntArray, after: IntArray
    ) -> IntArray:
        """Return a score for each of `demands`, whose devices go from `before` to `after` milli."""
        table, typical = self.table, self.typical
        gpus = np.array(node.gpus, np.int64)[:, None]
        small = gpus < typical.milli
        was_small, is_small = before[:, None] < typical.milli, after[:, None] < typical.milli
        sufficient = (
            len(node.gpus) - small.sum(axis=0) - table.devices[demands, None] * ~was_small
        ) + ~is_small
        too_small = (
            (small * gpus).sum(axis=0) - before[:, None] * was_small + after[:, None] * is_small
        )
        left = node.gpu_milli - table.total[demands]
        cpu = node.cpu_milli - table.cpu[demands]
        lost = (sufficient < typical.needs(node.model)) | (cpu[:, None] < typical.cpu)
        gradient = typical.on(node) - typical.weigh(np.where(lost, left[:, None], too_small))
        if not self.floored:
            return gradient
        return np.searchsorted(self._steps, gradient, side="right").astype(np.int64)
