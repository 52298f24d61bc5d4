"""Where and when something fits: the stretches of time in which nodes have room.

A hole of level k is the longest stretch in which a node has at least k units free; a unit is a
device, or a task of one need. All holes of a pool stand in one table, so that the earliest start
of a task on thousands of nodes is one pass over it. A plan changes one node, that is one row.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from scheduler_core.backfill.steps import FOREVER
from scheduler_core.scratch.nodes import Bools, Ints

_NEVER = 4 * FOREVER
"""When nodes that have no room for good come free for good."""

_SPARE = 4
"""Columns kept free for holes to come."""

_Row = tuple[list[int], list[int], int]
"""When a node's holes of one level begin, how long they last, and from when on it is for good."""


class Holes:
    """Begin and length of each node's holes, level by level, in order of time.

    The last of a node's holes may never end; these stand apart, for they are candidates for all.
    """

    def __init__(self, size: int, levels: int) -> None:
        self.levels = levels
        self._size = size
        self._rows: list[list[_Row]] = [[([], [], _NEVER)] * levels for _ in range(size)]
        self._open: Ints = np.full((levels, size), _NEVER, dtype=np.int64)
        self._longest: Ints = np.full((levels, size), -1, dtype=np.int64)
        self._width = _SPARE
        self._begin: Ints = np.zeros((levels, size, _SPARE), dtype=np.int64)
        self._length: Ints = np.full((levels, size, _SPARE), -1, dtype=np.int64)

    def copy(self) -> "Holes":
        """Return holes of their own that are the same."""
        new = copy(self)
        new._rows = [row[:] for row in self._rows]
        new._open, new._longest = self._open.copy(), self._longest.copy()
        new._begin, new._length = self._begin.copy(), self._length.copy()
        return new

    def _widen(self, more: int) -> None:
        """Make room for so many holes more, of each node and level."""
        self._width += more
        shape = (self.levels, self._size, more)
        self._begin = np.concatenate((self._begin, np.zeros(shape, dtype=np.int64)), axis=2)
        self._length = np.concatenate((self._length, np.full(shape, -1)), axis=2)

    def set_row(self, node: int, times: Sequence[int], units: Sequence[int]) -> None:
        """Take over a node's steps: from each of the times on so many units are free."""
        rows = _sweep(times, units, self.levels)
        before, self._rows[node] = self._rows[node], rows
        for level, row in enumerate(rows):
            if row != before[level]:
                more = len(row[0]) - self._width
                if more > 0:
                    self._widen(more + _SPARE)
                self._write(node, level, row)

    def _write(self, node: int, level: int, row: _Row) -> None:
        begins, lengths, open_ = row
        count = len(begins)
        self._begin[level, node, :count] = begins
        self._length[level, node, :count] = lengths
        self._length[level, node, count:] = -1
        self._open[level, node] = open_
        self._longest[level, node] = max(lengths, default=-1)

    def first(
        self, level: int, after: int, duration: int, able: Bools | None
    ) -> tuple[int, Ints] | None:
        """Return the first moment from `after` on when so many units are free for so long.

        And all nodes of which that is true. Only able nodes count; all do without a list.
        """
        begins, _, nodes = self._ending(slice(level - 1, level), after, duration, able)
        opens = np.maximum(self._open[level - 1], after)
        if able is not None:
            opens[~able] = _NEVER
        moment = min(int(opens.min()), int(begins.min(initial=_NEVER)))
        if moment >= _NEVER:
            return None
        tied = np.flatnonzero(opens == moment)
        if len(begins):
            tied = np.sort(np.concatenate((tied, nodes[begins == moment])))
        return moment, tied

    def candidates(
        self, level: int, after: int, duration: int, able: Bools | None
    ) -> tuple[Ints, Ints]:
        """Return all moments from which on so many units are free for so long, and the nodes."""
        begins, _, nodes = self._ending(slice(level - 1, level), after, duration, able)
        opens = np.maximum(self._open[level - 1], after)
        ever = opens < _NEVER if able is None else able & (opens < _NEVER)
        return (
            np.concatenate((begins, opens[ever])),
            np.concatenate((nodes, np.flatnonzero(ever))),
        )

    def _ending(
        self, levels: slice, after: int, duration: int, able: Bools | None
    ) -> tuple[Ints, Ints, Ints]:
        """Return first and last moments to begin in each hole that ends, and the nodes.

        Most nodes have no hole that is long enough and are not looked into.
        """
        places, rows = np.nonzero(self._longest[levels] >= duration)
        length, begin = self._length[levels][places, rows], self._begin[levels][places, rows]
        lines, columns = np.nonzero(length >= duration)
        begins = begin[lines, columns]
        lasts = begins + (length[lines, columns] - duration)
        nodes = rows[lines]
        fits = lasts >= after
        if able is not None:
            fits &= able[nodes]
        if not fits.all():
            begins, lasts, nodes = begins[fits], lasts[fits], nodes[fits]
        return np.maximum(begins, after), lasts, nodes

    def tightest(self, level: int, moment: int, nodes: Ints) -> Ints:
        """Return which of the nodes, that have so many units free, have the fewest free then."""
        while level < self.levels:
            begin, length = self._begin[level, nodes], self._length[level, nodes]
            has_more = ((begin <= moment) & (moment < begin + length)).any(axis=1)
            has_more |= self._open[level, nodes] <= moment
            if not has_more.all():
                tightest: Ints = nodes[~has_more]
                return tightest
            level += 1
        return nodes

    def tasks_at(self, unit: int, moment: int, duration: int) -> Ints:
        """Return how many tasks of so many units each node takes from the moment on so long."""
        length, begin = self._length[unit - 1 :: unit], self._begin[unit - 1 :: unit]
        inside = (begin <= moment) & (begin + length >= moment + duration)
        opened = self._open[unit - 1 :: unit] <= moment
        return np.asarray(inside.sum(axis=(0, 2)) + opened.sum(axis=0), dtype=np.int64)

    def moments(
        self, unit: int, least: int, most: int, after: int, duration: int, able: Bools
    ) -> Iterator[tuple[int, Ints]]:
        """Yield the moments from `after` on at which so many tasks fit and more come, and where.

        A node takes k tasks while it is in a hole of k times the unit that lasts long enough; so
        the tasks at a moment are those holes that have begun less those that end too soon. Never
        ending holes say by when there are enough; what begins later is looked at only on demand.
        What one node takes above `most`, which is not under `least`, is left out.
        """
        if unit > self.levels:
            return
        last_level = min(self.levels, unit * most)
        opens = np.maximum(self._open[unit - 1 : last_level : unit], after)
        opens[:, ~able] = _NEVER
        until = latest = _NEVER - 1
        if np.count_nonzero(opens < _NEVER) >= least:
            until = int(np.partition(opens, least - 1, axis=None)[least - 1])
        levels = slice(unit - 1, last_level, unit)
        begins, lasts, nodes = self._ending(levels, after, duration, able)
        since = after - 1
        for limit in (until, latest):
            soon = begins <= limit
            opened = opens <= limit
            found = _Spans(
                np.concatenate((begins[soon], opens[opened])),
                np.concatenate((lasts[soon], np.full(np.count_nonzero(opened), _NEVER))),
                np.concatenate((nodes[soon], np.nonzero(opened)[1])),
            )
            for moment in found.moments(least, since):
                yield moment, found.tasks(moment, self._size)
            since = limit


class _Spans(NamedTuple):
    """First and last moments between which one task more may begin on a node."""

    begins: Ints
    lasts: Ints
    nodes: Ints

    def moments(self, least: int, since: int) -> list[int]:
        """Return the moments after `since` at which some begin, and so many are there."""
        moments = np.sort(self.begins)
        begun: Ints = np.arange(1, len(moments) + 1)
        over = np.searchsorted(np.sort(self.lasts), moments, side="left")
        enough = (begun - over >= least) & (moments > since)
        return list(dict.fromkeys(moments[enough].tolist()))

    def tasks(self, moment: int, size: int) -> Ints:
        """Return how many tasks may begin on each node at the moment."""
        there = self.nodes[(self.begins <= moment) & (self.lasts >= moment)]
        return np.bincount(there, minlength=size)


def _sweep(times: Sequence[int], units: Sequence[int], levels: int) -> list[_Row]:
    """Return the rows of one node."""
    begins: list[list[int]] = [[] for _ in range(levels)]
    lengths: list[list[int]] = [[] for _ in range(levels)]
    begun: list[int] = []
    level = 0
    for moment, free in zip(times, units, strict=True):
        while level > free and level:
            level -= 1
            begin = begun.pop()
            begins[level].append(begin)
            lengths[level].append(moment - begin)
        while level < free and level < levels:
            level += 1
            begun.append(moment)
    begun += [_NEVER] * (levels - level)
    return list(zip(begins, lengths, begun, strict=True))
