"""The state of one cycle: built from a snapshot, changed by starts and stops, and undoable."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from scheduler_core.metrics import TeamTree
from scheduler_core.model import NODE_LEVEL, Placement, Running, Snapshot, Workload
from scheduler_core.resources import Amount
from scheduler_core.scratch.held import Devices, Held, Hold, Spot, freed, spots_of, without
from scheduler_core.scratch.ledger import Book
from scheduler_core.scratch.nodes import Bools, Column, Nodes
from scheduler_core.scratch.shapes import Need, Shape, Shapes, has_gpu_memory, has_model
from scheduler_core.scratch.terms import entitlements

_T = TypeVar("_T")

USED_UNIT = 1_000_000
"""Decayed use is counted in millionths of a GPU-second: milli-GPU × milli-equivalents × s."""


class State:
    """Nodes, use per team, who runs and who waits.

    `running` and `waiting` are by id, `of_team` is what runs by (pool, team). Use `attempt` for
    what-ifs. `version` never stands for two contents; undoing a what-if brings the old one back.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.now = snapshot.now
        self.policy = snapshot.policy
        self.tree = TeamTree(snapshot.teams)
        self.pool_index = {pool.name: number for number, pool in enumerate(snapshot.pools)}
        self.nodes = Nodes(snapshot.nodes, snapshot.pools)
        self.reservations = {entry.id: entry for entry in snapshot.reservations}
        self.shapes = Shapes()
        self._allowed: dict[object, Bools] = {}
        self._columns: dict[tuple[int, Need], Column] = {}
        self._rates: dict[int, tuple[int, int]] = {}
        self._domains: dict[tuple[int, str], list[int]] = {}
        self.version = self._versions = 0
        self._journal: list[Callable[[], None]] | None = None
        self.used = [team.used_gpu_seconds * USED_UNIT for team in snapshot.teams]
        self.holds: list[dict[str, Hold]] = [{} for _ in self.nodes.nodes]
        self.running: dict[str, Held] = {}
        self.of_team: dict[tuple[int, int], dict[str, Held]] = {}
        self.waiting: dict[str, Workload] = {}
        self.stopping: dict[str, list[Held]] = {}
        self._close_nodes()
        self.books = [
            Book(self.tree, terms, self.nodes.capacity(number))
            for number, terms in enumerate(entitlements(snapshot, self.tree, self.now))
        ]
        for workload in snapshot.workloads:
            if workload.running is None:
                self.waiting[workload.id] = workload
            else:
                self.begin(workload)

    def _close_nodes(self) -> None:
        for entry in self.snapshot.maintenance:
            if entry.starts_at <= self.now < entry.ends_at:
                self.nodes.usable[self.nodes.index[entry.node]] = False

    def shape(self, workload: Workload) -> Shape:
        """Return the shape of the workload, one object for all that ask the same."""
        return self.shapes.of(workload)

    def pools_for(self, workload: Workload) -> list[int]:
        """Return the pools the workload may run in, cheapest first; empty without any quota."""
        pool = workload.pool
        if workload.reservation is not None:
            pool = self.reservations[workload.reservation].pool
        team = self.tree.index[workload.team]
        wanted = range(len(self.books)) if pool is None else [self.pool_index[pool]]
        return [number for number in wanted if self.books[number].terms.has_quota[team]]

    def column(self, pool: int, need: Need) -> Column:
        """Return the tasks of the need that each node of the pool takes now."""
        column = self._columns.get((pool, need))
        if column is None:
            allowed = self.allowed(pool, need) & self.nodes.usable[self.nodes.slices[pool]]
            column = self._columns[pool, need] = Column(self.nodes, pool, need, allowed)
        return column

    def allowed(self, pool: int, need: Need) -> Bools:
        """Return which nodes of the pool the need may use at all: model, memory, zone, taints.

        Few needs differ in that; those that do not share one answer. Do not change it.
        """
        memory = need.per_task.gpu_memory_mib
        asked = (memory, need.per_task.gpu_milli) if memory else None
        key = (pool, need.models, need.tolerations, need.zone, asked)
        if key not in self._allowed:
            self._allowed[key] = self._find_allowed(pool, need)
        return self._allowed[key]

    def rates(self, pool: int) -> tuple[int, int]:
        """Return the CPU and memory every node of the pool has for each of its devices."""
        if pool not in self._rates:
            nodes = self.nodes.nodes[self.nodes.slices[pool]]
            self._rates[pool] = (
                min((node.cpu_milli // node.gpus for node in nodes if node.gpus), default=0),
                min((node.memory_mib // node.gpus for node in nodes if node.gpus), default=0),
            )
        return self._rates[pool]

    def _find_allowed(self, pool: int, need: Need) -> Bools:
        where = self.nodes.slices[pool]
        return np.array(
            [
                has_model(node.gpu_model, need)
                and has_gpu_memory(node.gpu_memory_mib, need)
                and need.zone in (None, node.zone)
                and need.tolerations.issuperset(node.taints)
                for node in self.nodes.nodes[where]
            ],
            dtype=np.bool_,
        )

    def domains(self, pool: int, level: str) -> list[int] | None:
        """Return each node's domain at a topology level, as numbers; None for an unknown level.

        A domain is its whole path; a node whose path is too short is in no domain: -1.
        """
        levels = (*self.snapshot.pools[pool].topology_levels, NODE_LEVEL)
        if level not in levels:
            return None
        if (pool, level) not in self._domains:
            depth = levels.index(level) + 1
            nodes = self.nodes.nodes[self.nodes.slices[pool]]
            if level == NODE_LEVEL:
                self._domains[pool, level] = list(range(len(nodes)))
            else:
                numbers: dict[tuple[str, ...], int] = {}
                self._domains[pool, level] = [
                    numbers.setdefault(node.topology[:depth], len(numbers))
                    if len(node.topology) >= depth
                    else -1
                    for node in nodes
                ]
        return self._domains[pool, level]

    def start(self, workload: Workload, pool: int, spots: Sequence[Spot]) -> Held:
        """Start waiting work on the given nodes, choosing devices; it must fit."""
        shape = self.shape(workload)
        per_task = workload.per_task.amount
        placed = []
        for node, tasks in spots:
            gpus = self.nodes.choose_devices(node, shape.need, tasks)
            self._take(node, gpus, per_task.times(tasks))
            placed.append((node, tasks, gpus))
        tasks = sum(tasks for _, tasks in spots)
        duration = workload.duration_seconds
        held = Held(
            workload,
            self.tree.index[workload.team],
            pool,
            tuple(placed),
            tasks,
            self.now,
            None if duration is None else self.now + duration,
            fresh=True,
        )
        self._occupy(held)
        self._count(held, 1)
        self._run(workload.id, held.pool, held.team, held)
        self._set(self.waiting, workload.id, None)
        self._charge(held, 1)
        return held

    def begin(self, workload: Workload) -> None:
        """Take in work that runs, with the very devices it says it holds; it waits no more."""
        self.waiting.pop(workload.id, None)
        self._hold(self._held_from(workload))

    def stop(self, held: Held, tasks: int | None = None) -> Held | None:
        """Stop running work, or only so many of its tasks; return what is left of it."""
        left = self.suspend(held, tasks)
        self.vacate(held, left)
        return left

    def suspend(self, held: Held, tasks: int | None = None) -> Held | None:
        """Count running work, or so many of its tasks, as stopped; it still holds its devices.

        Return what is left of it.
        """
        left = without(held, held.tasks if tasks is None else tasks)
        self._count(held, -1)
        if held.fresh:
            self._charge(held, -1)
        if left.tasks:
            self._count(left, 1)
            self._run(held.workload.id, held.pool, held.team, left)
            return left
        self._run(held.workload.id, held.pool, held.team, None)
        if held.fresh:
            self._set(self.waiting, held.workload.id, held.workload)
        return None

    def vacate(self, held: Held, left: Held | None) -> None:
        """Give back the devices of suspended work, all that is not left to it."""
        for node, gpus, amount in freed(held, left):
            self._give(node, gpus, amount)
        self._vacate(held)
        if left is not None:
            self._occupy(left)

    def resume(self, held: Held, left: Held | None = None) -> None:
        """Count suspended work as running again; `left` is what was left of it."""
        if left is not None:
            self.suspend(left)
        self._count(held, 1)
        self._run(held.workload.id, held.pool, held.team, held)
        if held.fresh:
            self._set(self.waiting, held.workload.id, None)
            self._charge(held, 1)

    def release(self, held: Held) -> None:
        """Give back the devices of work that is stopping; it is already no use of its team."""
        per_task = held.workload.per_task.amount
        for node, count, gpus in held.spots:
            self._give(node, gpus, per_task.times(count))
        self._vacate(held)

    def placements(self, held: Held) -> tuple[Placement, ...]:
        """Return where the work stands, in the contract's words."""
        return tuple(
            Placement(self.nodes.nodes[node].name, tasks, gpus) for node, tasks, gpus in held.spots
        )

    @contextmanager
    def attempt(self) -> Iterator["Attempt"]:
        """Try changes; they are undone at the end of the block unless `keep` was called."""
        outer, version = self._journal, self.version
        mine: list[Callable[[], None]] = []
        self._journal = mine
        attempt = Attempt()
        try:
            yield attempt
        finally:
            self._journal = None
            if not attempt.kept:
                while mine:
                    mine.pop()()
                self.version = version
            elif outer is not None:
                outer.extend(mine)
            self._journal = outer

    def _log(self, undo: Callable[[], None]) -> None:
        if self._journal is not None:
            self._journal.append(undo)

    def _set(self, table: dict[str, _T], key: str, value: _T | None) -> None:
        before = table.get(key)
        _put(table, key, value)
        self._log(lambda: _put(table, key, before))

    def _run(self, name: str, pool: int, team: int, held: Held | None) -> None:
        self._set(self.running, name, held)
        self._set(self.of_team.setdefault((pool, team), {}), name, held)

    def _is_new(self) -> None:
        self._versions += 1
        self.version = self._versions

    def _take(self, node: int, gpus: Devices, amount: Amount) -> None:
        self._is_new()
        version = self.nodes.versions[node]
        self.nodes.take(node, gpus, amount)

        def undo() -> None:
            self.nodes.give(node, gpus, amount)
            self.nodes.versions[node] = version

        self._log(undo)

    def _give(self, node: int, gpus: Devices, amount: Amount) -> None:
        self._is_new()
        version = self.nodes.versions[node]
        self.nodes.give(node, gpus, amount)

        def undo() -> None:
            self.nodes.take(node, gpus, amount)
            self.nodes.versions[node] = version

        self._log(undo)

    def _occupy(self, held: Held) -> None:
        per_task = held.workload.per_task.amount
        for node, tasks, gpus in held.spots:
            hold = Hold(held.ends_at, gpus, per_task.times(tasks))
            self._set(self.holds[node], held.workload.id, hold)

    def _vacate(self, held: Held) -> None:
        for node, _, _ in held.spots:
            self._set(self.holds[node], held.workload.id, None)

    def _count(self, held: Held, sign: int) -> None:
        self._count_now(held, sign)
        self._log(lambda: self._count_now(held, -sign))

    def _count_now(self, held: Held, sign: int) -> None:
        self._is_new()
        book, workload, team = self.books[held.pool], held.workload, held.team
        milli = sign * held.gpu_milli
        book.add(team, held.amount, sign)
        if not workload.preemptible:
            book.firm[team] += milli
        if self.names_fence(workload):
            book.named[team] += milli
        if workload.user is not None:
            key = (team, workload.user)
            book.people[key] = book.people.get(key, 0) + milli

    def names_fence(self, workload: Workload) -> bool:
        """Tell whether the workload names an open reservation from its team's own guarantee."""
        if workload.reservation is None:
            return False
        entry = self.reservations[workload.reservation]
        return entry.source == "guarantee" and entry.open_at(self.now)

    def _charge(self, held: Held, sign: int) -> None:
        """Charge a tick of decayed use at once, so that one cycle does not serve one team."""
        pool = self.snapshot.pools[held.pool]
        worth = held.gpu_milli * pool.gpu_equivalent_milli * self.policy.tick_seconds * sign
        self.used[held.team] += worth

        def undo() -> None:
            self.used[held.team] -= worth

        self._log(undo)

    def _held_from(self, workload: Workload) -> Held:
        running = workload.running
        assert running is not None
        spots = spots_of(running.placements, self.nodes.index)
        ends_at = None
        if workload.duration_seconds is not None:
            ends_at = running.started_at + workload.duration_seconds
        return Held(
            workload,
            self.tree.index[workload.team],
            self.nodes.pool_of[spots[0][0]],
            spots,
            running.tasks,
            running.started_at,
            self._known_end(running, ends_at),
            stopping_for=running.stopping_for,
        )

    def _known_end(self, running: Running, ends_at: int | None) -> int | None:
        """Return when the devices come free: what is stopping is expected gone by the next tick."""
        if running.stopping_for is not None:
            return self.now + max(1, self.policy.tick_seconds)
        return ends_at if ends_at is not None and ends_at > self.now else None

    def _hold(self, held: Held) -> None:
        per_task = held.workload.per_task.amount
        for node, tasks, gpus in held.spots:
            self.nodes.take(node, gpus, per_task.times(tasks))
            if not self.nodes.usable[node]:
                book = self.books[held.pool]
                book.out_of_service += tasks * held.workload.per_task.gpu_milli
        self._occupy(held)
        if held.stopping_for is not None:
            self.stopping.setdefault(held.stopping_for, []).append(held)
        else:
            self._count_now(held, 1)
            self._run(held.workload.id, held.pool, held.team, held)


class Attempt:
    """A what-if under way."""

    kept = False

    def keep(self) -> None:
        """Keep the changes when the block ends."""
        self.kept = True


def _put(table: dict[str, _T], key: str, value: _T | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
