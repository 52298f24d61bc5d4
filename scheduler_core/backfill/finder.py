"""When and where tasks fit in one pool: exact answers from tables of holes."""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from scheduler_core.backfill.holes import Holes
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.scratch import Need
from scheduler_core.scratch.nodes import Bools, Ints

if TYPE_CHECKING:
    from scheduler_core.backfill.timeline import Timeline

_PATIENCE = 16
"""So many nodes may turn out short of CPU or memory before a need gets a table of its own."""

_FEW = 32
"""Up to so many nodes are asked one by one."""


class _Table:
    """Holes of a pool, and on which of its nodes they are all there is to know."""

    def __init__(self, size: int, levels: int, need: Need | None) -> None:
        self.holes = Holes(size, levels)
        self.need = need
        self.plain: Bools = np.zeros(size, dtype=np.bool_)
        self.changes = -1
        self.takes = 0
        self.versions: list[int] = []

    def copy(self) -> "_Table":
        """Return a table of its own that says the same, for a timeline without takes of its own."""
        new = copy(self)
        new.holes = self.holes.copy()
        new.plain = self.plain.copy()
        new.versions = self.versions[:]
        new.takes = 0
        return new


class Finder:
    """Answers for one pool, leaving out what the exempt reservations took.

    One table counts whole devices: all needs share it, since devices are what is short. Where CPU,
    memory or single devices could decide too, its answer is a first guess and the node's profile
    has the last word. A need that is often disappointed so gets a table that counts its tasks.
    """

    def __init__(self, timeline: "Timeline", pool: int, exempt: frozenset[str]) -> None:
        self._timeline = timeline
        self._nodes = timeline.state.nodes
        self._exempt = exempt
        self._pool = pool
        where = self._nodes.slices[pool]
        self._low, self._size = where.start, where.stop - where.start
        self._most = int(self._nodes.gpus[where].max(initial=0))
        self._is_shared = self._nodes.shared[pool]
        self._tables: dict[Need | None, _Table] = {}
        self._misses: Counter[Need] = Counter()

    def table(self, need: Need, *, by_devices: bool) -> tuple[_Table, int, Bools]:
        """Return the table to ask for the need, its unit there, and where the answer is exact."""
        own = None if by_devices else need
        table = self._tables.get(own)
        if table is None:
            levels = self._most // (1 if by_devices else max(1, need.devices))
            levels = levels if need.devices and not self._is_shared else 1
            inherited = self._inherited(need) if by_devices else None
            table = inherited or _Table(self._size, max(1, levels), own)
            self._tables[own] = table
        self._refresh(table)
        if by_devices and not self._timeline.is_modest(self._pool, need):
            return table, need.devices, np.zeros(self._size, dtype=np.bool_)
        return table, need.devices if by_devices else 1, table.plain

    def _inherited(self, need: Need) -> _Table | None:
        """Return a copy of the table of whole devices of the timeline this one began from."""
        origin = self._timeline.origin
        if origin is None:
            return None
        table, _, _ = origin.finder(self._pool, self._exempt).table(need, by_devices=True)
        return table.copy()

    def _by_devices(self, need: Need) -> bool:
        return need.devices > 0 and not self._is_shared and self._misses[need] <= _PATIENCE

    def _refresh(self, table: _Table) -> None:
        """Bring the rows of nodes that changed up to date."""
        changed, taken = self._nodes.changed, self._timeline.taken
        versions = self._nodes.versions
        if table.changes < 0:
            news = set(range(self._low, self._low + self._size))
            table.versions = list(versions)
        elif table.changes == len(changed) and table.takes == len(taken):
            return
        else:
            news = {
                node
                for node in set(changed[table.changes :])
                if versions[node] != table.versions[node]
            }
            news.update(taken[table.takes :])
        table.changes, table.takes = len(changed), len(taken)
        for node in news:
            row = node - self._low
            if 0 <= row < self._size:
                self._read(table, row)

    def _read(self, table: _Table, row: int) -> None:
        node = self._low + row
        profile = self._timeline.profile(node, self._exempt)
        times, units = profile.devices_by_step()
        if table.need is not None:
            units = profile.tasks_by_step(table.need)
        table.versions[node] = self._nodes.versions[node]
        table.holes.set_row(row, times, units)
        table.plain[row] = profile.is_plain if table.need is None else not profile.has_rows

    def _able(self, need: Need, duration: int) -> Bools:
        """Return which nodes may be used at all for so long."""
        usable = self._timeline.usable(self._pool, need)
        if duration >= FOREVER and self._timeline.has_kept:
            kept = self._timeline.kept[self._low : self._low + self._size]
            return np.asarray(usable & ~kept)
        return usable

    def node(self, need: Need, after: int, duration: int) -> tuple[int, int] | None:
        """Return the earliest moment from `after` on, and the node, for one task for so long.

        Of nodes that tie, the fullest at that moment; then the first.
        """
        table, unit, exact = self.table(need, by_devices=self._by_devices(need))
        able = self._able(need, duration)
        only = None if able.all() else able
        found = table.holes.first(unit, after, duration, only)
        if found is None:
            return None
        moment, tied = found
        if not exact[tied].all():
            guesses = table.holes.candidates(unit, after, duration, only)
            return self._look_closely(need, duration, *guesses, exact)
        return moment, self._low + self._fullest(table, unit, moment, tied)

    def _fullest(self, table: _Table, unit: int, moment: int, tied: Ints) -> int:
        if len(tied) > 1 and table.need is None:
            tied = table.holes.tightest(unit, moment, tied)
        if len(tied) == 1 or table.need is None:
            return int(tied[0])
        candidates: list[int] = tied.tolist()
        return min(
            candidates,
            key=lambda node: self._timeline.profile(self._low + node).whole_at(moment),
        )

    def _look_closely(
        self, need: Need, duration: int, begins: Ints, nodes: Ints, exact: Bools
    ) -> tuple[int, int] | None:
        """Ask the profiles, in order of the first guesses, until no guess can beat the best."""
        best: tuple[int, int, int] | None = None
        order = np.argsort(begins, kind="stable")
        asked: set[int] = set()
        for begin, node in zip(begins[order].tolist(), nodes[order].tolist(), strict=True):
            if best is not None and begin > best[0]:
                break
            if node in asked:
                continue
            asked.add(node)
            profile = self._timeline.profile(self._low + node, self._exempt)
            found = begin if exact[node] else profile.earliest(need, begin, duration)
            self._misses[need] += found != begin
            if found is not None:
                fullest = (found, profile.whole_at(found), node)
                best = fullest if best is None else min(best, fullest)
        return None if best is None else (best[0], self._low + best[2])

    def gang(
        self, need: Need, least: int, most: int, after: int, duration: int
    ) -> Iterator[tuple[int, Ints]]:
        """Yield moments from `after` on at which so many tasks fit, and how many on each node.

        Moments at which nothing comes free are left out, and what a node takes above `most`.
        """
        able = self._able(need, duration)
        for by_devices in (True, False):
            if need.devices and not self._is_shared:
                table, unit, exact = self.table(need, by_devices=by_devices)
                if bool(exact[able].all()):
                    yield from table.holes.moments(unit, least, most, after, duration, able)
                    return
        yield from self._one_by_one(need, least, after, duration, able)

    def _one_by_one(
        self, need: Need, least: int, after: int, duration: int, able: Bools
    ) -> Iterator[tuple[int, Ints]]:
        rows = np.flatnonzero(able).tolist()
        profiles = [self._timeline.profile(self._low + row, self._exempt) for row in rows]
        steps = {step for profile in profiles for step in profile.moments() if step > after}
        for moment in [after, *sorted(steps)]:
            tasks: Ints = np.zeros(self._size, dtype=np.int64)
            end = min(FOREVER, moment + duration)
            tasks[rows] = [profile.tasks(need, moment, end) for profile in profiles]
            if int(tasks.sum()) >= least:
                yield moment, tasks

    def tasks_at(self, need: Need, moment: int, duration: int, nodes: Ints) -> Ints:
        """Return how many tasks each of some nodes takes from the moment on for so long.

        Few are asked one by one, which leaves the tables alone while victims are only tried.
        """
        usable = self._able(need, duration)[nodes]
        if len(nodes) > _FEW and need.devices and not self._is_shared:
            table, unit, exact = self.table(need, by_devices=True)
            tasks = np.where(usable, table.holes.tasks_at(unit, moment, duration)[nodes], 0)
            guessed = np.flatnonzero((tasks > 0) & ~exact[nodes])
        else:
            tasks = np.zeros(len(nodes), dtype=np.int64)
            guessed = np.flatnonzero(usable)
        end = min(FOREVER, moment + duration)
        for place, node in zip(guessed.tolist(), nodes[guessed].tolist(), strict=True):
            profile = self._timeline.profile(self._low + node, self._exempt)
            tasks[place] = profile.tasks(need, moment, end)
        return tasks
