"""Nodes over time: running work until its end, and what is taken for later."""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from scheduler_core.backfill.profile import Change, Profile
from scheduler_core.backfill.steps import FOREVER
from scheduler_core.resources import DEVICE, Amount
from scheduler_core.scratch import Need, State
from scheduler_core.scratch.nodes import Ints

Holder = tuple[str, str]
"""For whom something is taken: ("workload" | "reservation" | "maintenance", its id)."""

_TIES = 16
"""So many nodes are compared once one was found."""

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
        self._changes: dict[
            tuple[int, Need, int, frozenset[str]], tuple[tuple[int, int], list[tuple[int, int]]]
        ] = {}
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
            schedulable = [node.schedulable for node in self.state.nodes.nodes[where]]
            allowed = self.state.allowed(pool, need) & np.array(schedulable, dtype=np.bool_)
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
            self._queues[key] = [(now, node) for node in self.usable(pool, need).tolist()]
            heapify(self._queues[key])
        queue = self._queues[key]
        best: tuple[int, int, int] | None = None
        looked: list[tuple[int, int]] = []
        ties = _TIES
        while queue and ties and (best is None or max(queue[0][0], after) <= best[0]):
            ties -= best is not None
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
                best = fullest if best is None else min(best, fullest)
        for entry in looked:
            heappush(queue, entry)
        return None if best is None else (best[0], best[2])

    def earliest_nodes(
        self, nodes: Ints, need: Need, after: int, duration: int, exempt: frozenset[str] = NONE
    ) -> list[tuple[int, int, int]]:
        """Return (moment, node, change of the tasks that fit from then on for so long), in order.

        The first entry of each node is at `after`.
        """
        changes: list[tuple[int, int, int]] = []
        for node in nodes.tolist():
            if duration == FOREVER and node in self.kept:
                continue
            known = self._changes_on(node, need, duration, exempt)
            before = 0
            for number, (moment, count) in enumerate(known):
                if moment > after:
                    if before:
                        changes.append((after, node, before))
                    changes += [
                        (later, node, more - known[place - 1][1] if place else more)
                        for place, (later, more) in enumerate(known[number:], start=number)
                    ]
                    break
                before = count
            else:
                if before:
                    changes.append((after, node, before))
        changes.sort()
        return changes

    def _changes_on(
        self, node: int, need: Need, duration: int, exempt: frozenset[str]
    ) -> list[tuple[int, int]]:
        """Return from when on how many tasks fit on the node for so long; remembered."""
        key = (node, need, duration, exempt)
        stamp = (self.state.nodes.versions[node], len(self.takes.get(node, ())))
        known = self._changes.get(key)
        if known is None or known[0] != stamp:
            found: list[tuple[int, int]] = []
            profile = self.profile(node, exempt)
            before = -1
            for moment in self._moments(profile, self.state.now, duration):
                count = profile.tasks(need, moment, moment + duration)
                if count != before:
                    found.append((moment, count))
                    before = count
            known = self._changes[key] = (stamp, found)
        return known[1]

    def _moments(self, profile: Profile, after: int, duration: int) -> list[int]:
        """Return the moments at which the tasks may change: steps, and steps so far off."""
        steps = profile.moments()
        if duration == FOREVER or not profile.has_losses:
            return list(steps)
        moments = set(steps)
        moments |= {step - duration + 1 for step in steps if step - duration + 1 > after}
        return sorted(moments)
