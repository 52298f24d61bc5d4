"""Nodes over time: running work until its end, and what is taken for later."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scheduler_core.backfill.finder import Finder
from scheduler_core.backfill.profile import Change, Profile
from scheduler_core.resources import DEVICE, Amount
from scheduler_core.scratch import Need, Shape, State
from scheduler_core.scratch.nodes import Bools, Ints

Holder = tuple[str, str]
"""For whom something is taken: ("workload" | "reservation" | "maintenance", its id)."""

NONE: frozenset[str] = frozenset()


class Take(NamedTuple):
    """Something taken on one node for later."""

    change: Change
    holder: Holder


class Timeline:
    """The profiles of all nodes, with what has been taken for later on top.

    Reads the state live: a node that changed is profiled anew when next asked. `kept` marks nodes
    on which nothing without a known end may start, because work ahead waits for all of them.
    `taken` lists every node something was taken on, take after take. Questions may leave out what
    some reservations took (`exempt`, their ids).
    """

    def __init__(self, state: State, origin: "Timeline | None" = None) -> None:
        self.state = state
        self.origin = origin
        self.takes: dict[int, list[Take]] = {}
        if origin is not None:
            self.takes = {node: list(takes) for node, takes in origin.takes.items()}
        self.taken: list[int] = []
        size = len(state.nodes.nodes)
        self.kept: Bools = np.zeros(size, dtype=np.bool_)
        self.has_kept = False
        self._is_taken: Bools = np.zeros(size, dtype=np.bool_)
        self._is_taken[list(self.takes)] = True
        self._bare: dict[int, tuple[int, Profile]] = {} if origin is None else origin._bare
        self._seen: dict[int, tuple[int, Profile]] = {}
        self._exempted: dict[int, dict[frozenset[str], tuple[int, Profile]]] = {}
        self._finders: dict[tuple[int, frozenset[str]], Finder] = {}
        self._usable: dict[tuple[int, Need], Bools] = {}

    def copy(self) -> "Timeline":
        """Return a timeline that starts from the same takes, of which this gets no more."""
        return Timeline(self.state, self)

    def profile(self, node: int, exempt: frozenset[str] = NONE) -> Profile:
        """Return the node's profile, without what the exempt reservations took."""
        takes = self.takes.get(node)
        if takes is None:
            return self._without_takes(node)
        version = self.state.nodes.versions[node]
        seen = self._exempted.get(node, {}).get(exempt) if exempt else self._seen.get(node)
        if seen is not None and seen[0] == version:
            return seen[1]
        profile = self._without_takes(node).copy()
        profile.apply(
            change for change, (kind, name) in takes if kind != "reservation" or name not in exempt
        )
        if exempt:
            self._exempted.setdefault(node, {})[exempt] = (version, profile)
        else:
            self._seen[node] = (version, profile)
        return profile

    def _without_takes(self, node: int) -> Profile:
        """Return the profile by running work alone, which all timelines share."""
        version = self.state.nodes.versions[node]
        seen = self._bare.get(node)
        if seen is None or seen[0] != version:
            seen = self._bare[node] = (version, self._build(node))
        return seen[1]

    def _build(self, node: int) -> Profile:
        nodes, state = self.state.nodes, self.state
        pool = nodes.pool_of[node]
        row = nodes.devices[node].tolist()[: nodes.nodes[node].gpus]
        by_device = nodes.shared[pool] or any(0 < one < DEVICE for one in row)
        free = Amount(0, int(nodes.cpu_free[node]), int(nodes.memory_free[node]))
        whole = int(nodes.whole[node])
        profile = Profile(state.now, whole, free, row if by_device else None, state.rates(pool))
        profile.free_in_turn(
            sorted(
                (hold.ends_at, len(hold.gpus), hold.amount, hold.gpus)
                for hold in state.holds[node].values()
                if hold.ends_at is not None
            )
        )
        return profile

    def take(self, node: int, change: Change, holder: Holder) -> None:
        """Take something on a node for later."""
        self.takes.setdefault(node, []).append(Take(change, holder))
        self.taken.append(node)
        self._is_taken[node] = True
        self._exempted.pop(node, None)
        seen = self._seen.get(node)
        if seen is not None:
            seen[1].apply([change])

    def keep(self, pool: int, need: Need) -> None:
        """Let nothing without a known end start on the nodes the need may use."""
        self.kept[self.state.nodes.slices[pool]] |= self.usable(pool, need)
        self.has_kept = True

    def usable(self, pool: int, need: Need) -> Bools:
        """Return which nodes of the pool the need may ever use while the snapshot holds."""
        found = self._usable.get((pool, need))
        if found is None:
            schedulable = self.state.nodes.schedulable[self.state.nodes.slices[pool]]
            found = self._usable[pool, need] = self.state.allowed(pool, need) & schedulable
        return found

    def is_modest(self, pool: int, need: Need) -> bool:
        """Tell whether the need asks no more CPU and memory for a device than the pool's rates."""
        cpu, memory = self.state.rates(pool)
        per_task = need.per_task
        return (
            per_task.cpu_milli <= cpu * need.devices
            and per_task.memory_mib <= memory * need.devices
        )

    def finder(self, pool: int, exempt: frozenset[str]) -> Finder:
        """Return who answers for the pool."""
        finder = self._finders.get((pool, exempt))
        if finder is None:
            finder = self._finders[pool, exempt] = Finder(self, pool, exempt)
        return finder

    def tasks_now(
        self, pool: int, need: Need, duration: int, exempt: frozenset[str] = NONE
    ) -> Ints:
        """Return how many tasks each node takes from now on for so long."""
        where = self.state.nodes.slices[pool]
        tasks = self.state.column(pool, need).tasks()
        held_back = np.flatnonzero((self._is_taken[where] | self.kept[where]) & (tasks > 0))
        if not len(held_back):
            return tasks
        later = tasks.copy()
        later[held_back] = self.finder(pool, exempt).tasks_at(
            need, self.state.now, duration, held_back
        )
        return later

    def tasks(
        self, pool: int, need: Need, start: int, duration: int, exempt: frozenset[str] = NONE
    ) -> Ints:
        """Return how many tasks each node takes from `start` for so long."""
        size = self.state.nodes.slices[pool].stop - self.state.nodes.slices[pool].start
        return self.finder(pool, exempt).tasks_at(need, start, duration, np.arange(size))

    def earliest_node(
        self, pool: int, need: Need, after: int, duration: int, exempt: frozenset[str] = NONE
    ) -> tuple[int, int] | None:
        """Return the earliest moment from `after` on, and the node, for one task for so long."""
        return self.finder(pool, exempt).node(need, after, duration)

    def earliest_tasks(
        self,
        pool: int,
        shape: Shape,
        most: int,
        after: int,
        duration: int,
        exempt: frozenset[str] = NONE,
    ) -> Iterator[tuple[int, Ints]]:
        """Yield moments from `after` on at which the gang may fit, and the tasks of each node.

        What one node takes above `most`, which is not less than the gang, may be left out.
        """
        return self.finder(pool, exempt).gang(shape.need, shape.least, most, after, duration)
