"""Where and when something fits: the stretches of time in which nodes have room.

A hole of level k is the longest stretch in which a node has at least k units free; a unit is a
device, or a task of one need. All holes of a pool stand in one table, so that the earliest start
of a task on thousands of nodes is one pass over it. A plan changes one node, that is one row.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.backfill.steps import FOREVER
from scheduler_core.scratch.nodes import Ints

_OPEN = 2 * FOREVER
"""The length of a hole that never ends: more than any work asks."""

_SPARE = 4
"""Columns kept free for holes to come."""


class Holes:
    """Begin and length of each node's holes, level by level, in order of time."""

    def __init__(self, size: int, levels: int) -> None:
        self.levels = levels
        self._size = size
        self._rows: list[list[list[int]]] = [[[] for _ in range(2 * levels)]] * size
        self._make(_SPARE)

    def _make(self, width: int) -> None:
        """Lay the table out anew with room for so many holes a node and level."""
        self._width = width
        shape = (self.levels, self._size, width)
        self._begin: Ints = np.zeros(shape, dtype=np.int64)
        self._length: Ints = np.full(shape, -1, dtype=np.int64)
        for node, rows in enumerate(self._rows):
            self._write(node, rows)

    def set_row(self, node: int, times: Sequence[int], units: Sequence[int]) -> None:
        """Take over a node's steps: from each of the times on so many units are free."""
        rows = _sweep(times, units, self.levels)
        self._rows[node] = rows
        widest = max(map(len, rows))
        if widest > self._width:
            self._make(widest + _SPARE)
        else:
            self._write(node, rows)

    def _write(self, node: int, rows: list[list[int]]) -> None:
        for level in range(self.levels):
            begins, lengths = rows[2 * level], rows[2 * level + 1]
            count = len(begins)
            self._begin[level, node, :count] = begins
            self._length[level, node, :count] = lengths
            self._length[level, node, count:] = -1

    def candidates(self, level: int, after: int, duration: int) -> tuple[Ints, Ints]:
        """Return when so many units are free for so long, from `after` on, and where."""
        length, begin = self._length[level - 1].ravel(), self._begin[level - 1].ravel()
        where = np.flatnonzero(length >= duration)
        begins = begin[where]
        lasts = begins + length[where] - duration
        late = lasts >= after
        if not late.all():
            where, begins = where[late], begins[late]
        return np.maximum(begins, after), where // self._width

    def tightest(self, level: int, moment: int, nodes: Ints) -> Ints:
        """Return which of the nodes, that have so many units free, have the fewest free then."""
        while level < self.levels:
            begin, length = self._begin[level, nodes], self._length[level, nodes]
            has_more = ((begin <= moment) & (moment < begin + length)).any(axis=1)
            if not has_more.all():
                return nodes[~has_more]
            level += 1
        return nodes

    def tasks_at(self, unit: int, moment: int, duration: int) -> Ints:
        """Return how many tasks of so many units each node takes from the moment on so long."""
        length, begin = self._length[unit - 1 :: unit], self._begin[unit - 1 :: unit]
        inside = (begin <= moment) & (begin + length >= moment + duration)
        return np.asarray(inside.sum(axis=(0, 2)), dtype=np.int64)

    def moments(
        self, unit: int, least: int, after: int, duration: int, usable: Ints
    ) -> Iterator[tuple[int, Ints]]:
        """Yield the moments from `after` on at which so many tasks fit and more come, and where.

        A node takes k tasks while it is in a hole of k times the unit that lasts long enough; so
        the tasks at a moment are those holes that have begun less those that end too soon.
        """
        length, begin = self._length[unit - 1 :: unit], self._begin[unit - 1 :: unit]
        inside = (length >= duration) & (begin + length >= after + duration)
        inside &= usable[:, None]
        levels, nodes, _ = found = np.nonzero(inside)
        del levels
        begins = np.maximum(begin[found], after)
        lasts = begin[found] + length[found] - duration
        moments = np.unique(begins)
        begun = np.searchsorted(np.sort(begins), moments, side="right")
        over = np.searchsorted(np.sort(lasts), moments, side="left")
        for moment in moments[begun - over >= least].tolist():
            there = nodes[(begins <= moment) & (lasts >= moment)]
            yield moment, np.bincount(there, minlength=self._size)


def _sweep(times: Sequence[int], units: Sequence[int], levels: int) -> list[list[int]]:
    """Return for each level when its holes begin and how long they last, list after list."""
    rows: list[list[int]] = [[] for _ in range(2 * levels)]
    begun: list[int] = []
    for moment, free in zip(times, units, strict=True):
        level = len(begun)
        while level > free and level:
            level -= 1
            begin = begun.pop()
            rows[2 * level].append(begin)
            rows[2 * level + 1].append(moment - begin)
        while level < free and level < levels:
            level += 1
            begun.append(moment)
    for level, begin in enumerate(begun):
        rows[2 * level].append(begin)
        rows[2 * level + 1].append(_OPEN)
    return rows
