"""All profiles of one pool side by side, for gangs: many nodes asked at one moment.

Only for pools with whole devices, where a count of free devices says enough.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.backfill.profile import Profile
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.scratch import Need
from scheduler_core.scratch.nodes import PLENTY, Ints

_SPARE = 8
"""Columns kept free for steps to come."""


class Grid:
    """Steps of each node in a row, padded with steps that never begin; and all steps by time."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows_times: list[tuple[int, ...]] = [()] * size
        self._steps: list[tuple[int, int]] = []
        self._make(_SPARE)

    def _make(self, width: int) -> None:
        self._profiles: list[Profile | None] = [None] * self._size
        self._times: Ints = np.full((self._size, width), FOREVER, dtype=np.int64)
        self._ends: Ints = np.full((self._size, width), FOREVER, dtype=np.int64)
        self._free: Ints = np.zeros((3, self._size, width), dtype=np.int64)

    def widen(self, width: int) -> bool:
        """Make room for so many steps; all rows must then be set again if this says so."""
        if width <= self._times.shape[1]:
            return False
        self._make(width + _SPARE)
        return True

    def set_row(self, row: int, profile: Profile, *, changed: bool) -> None:
        """Take over a node's profile; there must be room for its steps.

        The profile it has already is read again only if it `changed`.
        """
        if not changed and self._profiles[row] is profile:
            return
        times, whole, cpu, memory = profile.columns()
        count = len(times)
        self._profiles[row] = profile
        self._note_steps(row, times)
        self._times[row] = FOREVER
        self._ends[row] = FOREVER
        self._times[row, :count] = times
        self._ends[row, : count - 1] = times[1:]
        self._free[0, row, :count] = whole
        self._free[1, row, :count] = cpu
        self._free[2, row, :count] = memory

    def _note_steps(self, row: int, times: Sequence[int]) -> None:
        """Keep the steps of all nodes in order of time."""
        old, new = self._rows_times[row], tuple(times)
        if old == new:
            return
        for moment in set(old).difference(new):
            del self._steps[bisect_left(self._steps, (moment, row))]
        for moment in set(new).difference(old):
            insort(self._steps, (moment, row))
        self._rows_times[row] = new

    def tasks(self, need: Need, start: int, duration: int) -> Ints:
        """Return how many tasks each node takes from `start` for so long.

        Only nodes that take one at `start` are followed through the time after it.
        """
        per_task = need.per_task
        asked = (need.devices, per_task.cpu_milli, per_task.memory_mib)
        step = np.count_nonzero(self._times <= start, axis=1) - 1
        rows: Ints = np.arange(self._size)
        for free, ask in zip(self._free, asked, strict=True):
            if ask:
                rows = rows[free[rows, step[rows]] >= ask]
        end = min(FOREVER, start + duration)  # padding begins at FOREVER and never counts
        inside = (self._times[rows] < end) & (self._ends[rows] > start)
        count: Ints = np.full(len(rows), PLENTY, dtype=np.int64)
        for free, ask in zip(self._free, asked, strict=True):
            if ask:
                least = np.where(inside, free[rows], FOREVER).min(axis=1)
                count = np.minimum(count, least // ask)
        tasks: Ints = np.zeros(self._size, dtype=np.int64)
        tasks[rows] = np.maximum(count, 0)
        return tasks

    def earliest(
        self, need: Need, least: int, after: int, duration: int, usable: Ints
    ) -> Iterator[tuple[int, Ints]]:
        """Yield the moments from `after` on at which so many tasks fit, and where.

        `usable` is 1 for nodes that count, else 0. Sweeps over the steps in order of time: a step
        that begins can only let its node take more, so `total` stays an upper bound while nodes
        whose window meets a later step are not looked at; they are, once the bound is enough.
        O(nodes) to begin with, then O(1) for each step swept over.
        """
        tasks = self.tasks(need, after, duration) * usable
        total = int(tasks.sum())
        if total >= least:
            yield after, tasks.copy()
        steps = self._steps
        met = bisect_left(steps, (after + duration, -1))
        place = bisect_left(steps, (after + 1, -1))
        while place < len(steps):
            moment = steps[place][0]
            begun = place
            place = bisect_left(steps, (moment + 1, -1), place)
            rows = [row for _, row in steps[begun:place] if usable[row]]
            total += self._look_again(tasks, rows, need, moment, duration)
            if total < least:
                continue
            ahead = bisect_left(steps, (moment + duration, -1), met)
            rows = [row for row in {row for _, row in steps[met:ahead]} if tasks[row]]
            total += self._look_again(tasks, rows, need, moment, duration)
            met = ahead
            if total >= least:
                yield moment, tasks.copy()

    def _look_again(
        self, tasks: Ints, rows: list[int], need: Need, start: int, duration: int
    ) -> int:
        """Count the tasks of some nodes from `start` on anew; return how many more they are."""
        more = 0
        for row in rows:
            profile = self._profiles[row]
            assert profile is not None
            fits = profile.least_tasks(need, start, start + duration)
            before = int(tasks[row])
            if fits != before:
                tasks[row] = fits
                more += fits - before
        return more
