"""All profiles of one pool side by side, for gangs: many nodes asked at one moment.

Only for pools with whole devices, where a count of free devices says enough.
"""

import numpy as np

from scheduler_core.backfill.profile import Profile
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.scratch import Need
from scheduler_core.scratch.nodes import PLENTY, Bools, Ints

_SPARE = 8
"""Columns kept free for steps to come."""


class Grid:
    """Steps of each node in a row, padded with steps that never begin."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._make(_SPARE)

    def _make(self, width: int) -> None:
        self._times: Ints = np.full((self._size, width), FOREVER, dtype=np.int64)
        self._ends: Ints = np.full((self._size, width), FOREVER, dtype=np.int64)
        self._free: Ints = np.zeros((3, self._size, width), dtype=np.int64)

    def widen(self, width: int) -> bool:
        """Make room for so many steps; all rows must then be set again if this says so."""
        if width <= self._times.shape[1]:
            return False
        self._make(width + _SPARE)
        return True

    def set_row(self, row: int, profile: Profile) -> None:
        """Take over a node's profile; there must be room for its steps."""
        times, whole, cpu, memory = profile.columns()
        count = len(times)
        self._times[row] = FOREVER
        self._ends[row] = FOREVER
        self._times[row, :count] = times
        self._ends[row, : count - 1] = times[1:]
        self._free[0, row, :count] = whole
        self._free[1, row, :count] = cpu
        self._free[2, row, :count] = memory

    def tasks(self, need: Need, start: int, duration: int) -> Ints:
        """Return how many tasks each node takes from `start` for so long.

        Only nodes that take one at `start` are followed through the time after it.
        """
        per_task = need.per_task
        asked = (need.devices, per_task.cpu_milli, per_task.memory_mib)
        step = (self._times <= start).sum(axis=1) - 1
        able: Bools = np.ones(self._size, dtype=np.bool_)
        every = np.arange(self._size)
        for free, ask in zip(self._free, asked, strict=True):
            if ask:
                able &= free[every, step] >= ask
        rows = np.flatnonzero(able)
        inside = (self._times[rows] < start + duration) & (self._ends[rows] > start)
        count: Ints = np.full(len(rows), PLENTY, dtype=np.int64)
        for free, ask in zip(self._free, asked, strict=True):
            if ask:
                least = np.where(inside, free[rows], FOREVER).min(axis=1)
                count = np.minimum(count, least // ask)
        tasks: Ints = np.zeros(self._size, dtype=np.int64)
        tasks[rows] = np.maximum(count, 0)
        return tasks

    def promising(
        self, need: Need, least: int, after: int, duration: int, usable: Ints
    ) -> list[int]:
        """Return the moments from `after` on from which so many tasks always fit somewhere.

        Whether they can stay on the same nodes for the whole duration is not asked here. `usable`
        is 1 for nodes that count, else 0.
        """
        per_task = need.per_task
        count: Ints = np.full(self._times.shape, PLENTY, dtype=np.int64)
        asked = (need.devices, per_task.cpu_milli, per_task.memory_mib)
        for free, ask in zip(self._free, asked, strict=True):
            if ask:
                count = np.minimum(count, free // ask)
        changes = np.diff(np.maximum(count, 0), axis=1, prepend=0)
        real = (self._times < FOREVER) & (usable[:, None] > 0)
        times = self._times[real]
        order = np.argsort(times, kind="stable")
        times, totals = times[order], np.cumsum(changes[real][order])
        last = np.append(times[1:] != times[:-1], True)[: len(times)]
        times, totals = times[last], totals[last]
        place = max(0, int(np.searchsorted(times, after, side="right")) - 1)
        starts = np.maximum(times[place:], after)[totals[place:] >= least]
        full = np.append(times[totals < least], 2 * FOREVER)
        until = full[np.searchsorted(full, starts, side="right")]
        found: list[int] = starts[until - starts >= duration].tolist()
        return found
