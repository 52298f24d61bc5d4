"""Nodes over time: running work until its end, and what is taken for later."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from scheduler_core.backfill.grid import Grid
from scheduler_core.backfill.profile import Change, Profile
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.resources import DEVICE, Amount
from scheduler_core.scratch import Need, State
from scheduler_core.scratch.nodes import Ints

Holder = tuple[str, str]
"""For whom something is taken: ("workload" | "reservation" | "maintenance", its id)."""

_TIES = 16
"""So many nodes of one moment are compared."""

NONE: frozenset[str] = frozenset()


class Take(NamedTuple):
    """Something taken on one node for later."""

    change: Change
    holder: Holder


class Timeline:
    """The profiles of all nodes, with what has been taken for later on top.

    Reads the state live: a node that changed is profiled anew when next asked. `kept` marks nodes
    on which nothing without a known end may start, because work ahead waits for all of them.
    Questions may leave out what some reservations took (`exempt`, their ids).
    """

    def __init__(self, state: State, takes: dict[int, list[Take]] | None = None) -> None:
        self.state = state
        self.takes: dict[int, list[Take]] = takes or {}
        self.kept: set[int] = set()
        self._seen: dict[int, tuple[int, Profile]] = {}
        self._exempted: dict[int, dict[frozenset[str], tuple[int, Profile]]] = {}
        self._queues: dict[tuple[int, Need, int, frozenset[str]], list[tuple[int, int]]] = {}
        self._grids: dict[int, tuple[Grid, int, int]] = {}
        self._taken: list[int] = []
        self._usable: dict[tuple[int, Need], Ints] = {}

    def copy(self) -> "Timeline":
        """Return a timeline that starts from the same takes."""
        return Timeline(self.state, {node: list(takes) for node, takes in self.takes.items()})

    def profile(self, node: int, exempt: frozenset[str] = NONE) -> Profile:
        """Return the node's profile, without what the exempt reservations took."""
        version = self.state.nodes.versions[node]
        seen = self._exempted.get(node, {}).get(exempt) if exempt else self._seen.get(node)
        if seen is not None and seen[0] == version:
            return seen[1]
        profile = self._build(node, exempt)
        if exempt:
            self._exempted.setdefault(node, {})[exempt] = (version, profile)
        else:
            self._seen[node] = (version, profile)
        return profile

    def _build(self, node: int, exempt: frozenset[str]) -> Profile:
        nodes, state = self.state.nodes, self.state
        row = nodes.devices[node].tolist()[: nodes.nodes[node].gpus]
        by_device = nodes.shared[nodes.pool_of[node]] or any(0 < one < DEVICE for one in row)
        free = Amount(0, int(nodes.cpu_free[node]), int(nodes.memory_free[node]))
        profile = Profile(state.now, int(nodes.whole[node]), free, row if by_device else None)
        profile.apply(
            Change(hold.ends_at, FOREVER, 1, len(hold.gpus), hold.amount, hold.gpus)
            for hold in state.holds[node].values()
            if hold.ends_at is not None
        )
        profile.apply(
            change
            for change, (kind, name) in self.takes.get(node, ())
            if kind != "reservation" or name not in exempt
        )
        return profile

    def take(self, node: int, change: Change, holder: Holder) -> None:
        """Take something on a node for later."""
        self.takes.setdefault(node, []).append(Take(change, holder))
        self._taken.append(node)
        self._exempted.pop(node, None)
        seen = self._seen.get(node)
        if seen is not None:
            seen[1].apply([change])

    def freed(self) -> None:
        """Forget lower bounds: something came free, so work may start earlier than they say."""
        self._queues.clear()

    def usable(self, pool: int, need: Need) -> Ints:
        """Return the nodes the need may ever use while the snapshot holds, by number."""
        if (pool, need) not in self._usable:
            where = self.state.nodes.slices[pool]
            allowed = self.state.allowed(pool, need) & self.state.nodes.schedulable[where]
            self._usable[pool, need] = np.flatnonzero(allowed) + where.start
        return self._usable[pool, need]

    def tasks_now(
        self, pool: int, need: Need, duration: int, exempt: frozenset[str] = NONE
    ) -> Ints:
        """Return how many tasks each node takes from now on for so long."""
        tasks = self.state.column(pool, need).tasks()
        low = self.state.nodes.slices[pool].start
        now = self.state.now
        held_back = [
            node
            for node in (np.flatnonzero(tasks) + low).tolist()
            if node in self.takes or node in self.kept
        ]
        if held_back:
            tasks = tasks.copy()
            for node in held_back:
                tasks[node - low] = self.tasks(node, need, now, duration, exempt)
        return tasks

    def tasks(
        self, node: int, need: Need, start: int, duration: int, exempt: frozenset[str] = NONE
    ) -> int:
        """Return how many tasks the node takes from `start` for so long."""
        if duration == FOREVER and node in self.kept:
            return 0
        return self.profile(node, exempt).tasks(need, start, start + duration)

    def earliest_node(
        self, pool: int, need: Need, after: int, duration: int, exempt: frozenset[str] = NONE
    ) -> tuple[int, int] | None:
        """Return the earliest moment from `after` on, and the node, for one task for so long.

        Between frees a node's first moment only moves later, so the nodes wait in a heap by a
        lower bound and most are never looked at. Of the first few that tie the fullest is taken.
        """
        bucket = duration if duration == FOREVER else 1 << (duration.bit_length() - 1)
        key = (pool, need, bucket, exempt)
        if key not in self._queues:
            now = self.state.now
            # In order of the nodes, so already a heap.
            self._queues[key] = [(now, node) for node in self.usable(pool, need).tolist()]
        queue = self._queues[key]
        best: tuple[int, int, int] | None = None
        looked: list[tuple[int, int]] = []
        ties = _TIES
        while queue and (best is None or max(queue[0][0], after) < best[0] + (ties > 0)):
            _, node = heappop(queue)
            if duration == FOREVER and node in self.kept:
                continue
            profile = self.profile(node, exempt)
            bound = profile.earliest(need, self.state.now, bucket)
            if bound is None:
                continue
            looked.append((bound, node))
            found = profile.earliest(need, after, duration)
            if found is not None:
                fullest = (found, profile.whole_at(found), node)
                ties -= best is not None and found == best[0]
                best = fullest if best is None else min(best, fullest)
        for entry in looked:
            heappush(queue, entry)
        return None if best is None else (best[0], best[2])

    def earliest_tasks(
        self,
        pool: int,
        need: Need,
        least: int,
        after: int,
        duration: int,
        exempt: frozenset[str] = NONE,
    ) -> Iterator[tuple[int, Ints]]:
        """Yield moments from `after` on, and the tasks each node takes from then for so long.

        Moments at which fewer than `least` fit, or nothing comes free, may be left out.
        """
        where = self.state.nodes.slices[pool]
        usable: Ints = np.zeros(where.stop - where.start, dtype=np.int64)
        usable[self.usable(pool, need) - where.start] = 1
        if duration == FOREVER:
            kept = [node for node in self.kept if where.start <= node < where.stop]
            usable[[node - where.start for node in kept]] = 0
        grid = None if exempt else self._grid(pool)
        if grid is not None:
            for at, tasks in grid.earliest(need, least, after, duration, usable):
                if duration < FOREVER:
                    yield at, tasks
                else:
                    yield at, grid.tasks(need, at, duration) * usable
            return
        moment: int | None = after
        while moment is not None:
            yield (
                moment,
                self._tasks_one_by_one(usable, where.start, need, moment, duration, exempt),
            )
            moment = self._next_step(where, moment, exempt)

    def _tasks_one_by_one(
        self, usable: Ints, low: int, need: Need, start: int, duration: int, exempt: frozenset[str]
    ) -> Ints:
        tasks: Ints = np.zeros(len(usable), dtype=np.int64)
        for number in np.flatnonzero(usable).tolist():
            tasks[number] = self.tasks(low + number, need, start, duration, exempt)
        return tasks

    def _next_step(self, where: slice, moment: int, exempt: frozenset[str]) -> int | None:
        later = (
            step
            for node in range(where.start, where.stop)
            for step in self.profile(node, exempt).moments()
            if step > moment
        )
        return min(later, default=None)

    def _grid(self, pool: int) -> Grid | None:
        """Return the pool's grid, brought up to date; None where devices are shared."""
        where = self.state.nodes.slices[pool]
        if self.state.nodes.shared[pool]:
            return None
        grid, seen_changes, seen_takes = self._grids.get(pool) or (None, 0, 0)
        changed, taken = self.state.nodes.changed, self._taken
        if grid is None:
            grid = Grid(where.stop - where.start)
            news: Iterable[int] = range(where.start, where.stop)
        else:
            news = {*changed[seen_changes:], *taken[seen_takes:]}
        profiles = {node: self.profile(node) for node in news if where.start <= node < where.stop}
        widest = max((len(one.moments()) for one in profiles.values()), default=0)
        if grid.widen(widest):
            profiles = {node: self.profile(node) for node in range(where.start, where.stop)}
        fresh = {*taken[seen_takes:]}
        for node, profile in profiles.items():
            grid.set_row(node - where.start, profile, changed=node in fresh)
        self._grids[pool] = (grid, len(changed), len(taken))
        return grid
