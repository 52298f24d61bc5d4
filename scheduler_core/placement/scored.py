"""The scoring policies as placements of the planner.

Scores are kept for all demands that wait, a row each, over the nodes of a pool; a node that changed
is scored anew when next asked about. One state's scores last as long as its snapshot, since what is
typical changes with it.
"""

from collections import Counter
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from scheduler_core.model import PerTask, Snapshot, Workload
from scheduler_core.placement.base import Room
from scheduler_core.placement.best_fit import BestFit
from scheduler_core.placement.demands import (
    INFEASIBLE,
    SHARE,
    Demand,
    DemandTable,
    FreeNode,
    IntArray,
)
from scheduler_core.placement.dot_product import DotProduct
from scheduler_core.placement.fgd import Fgd
from scheduler_core.placement.fragmentation import Typical
from scheduler_core.placement.gpu_clustering import GpuClustering
from scheduler_core.placement.gpu_packing import GpuPacking
from scheduler_core.placement.random import RandomNode
from scheduler_core.placement.scale import Scale
from scheduler_core.placement.scoring import Scores
from scheduler_core.resources import DEVICE
from scheduler_core.scratch import Spot, State

Maker = Callable[[DemandTable, Typical, Scale, str], Scores]

SCORINGS: dict[str, Maker] = {
    "fgd": lambda table, typical, scale, seed: Fgd(table, typical),
    "best_fit": lambda table, typical, scale, seed: BestFit(table, scale),
    "dot_product": lambda table, typical, scale, seed: DotProduct(table, scale),
    "gpu_packing": lambda table, typical, scale, seed: GpuPacking(table),
    "gpu_clustering": lambda table, typical, scale, seed: GpuClustering(table, scale),
    "random": lambda table, typical, scale, seed: RandomNode(table, seed),
}
"""Scoring policies by name: demands, typical kinds, the largest node and a seed make one."""


class Scored:
    """Puts one task after another where the policy scores highest; ties go to the list's order."""

    counts_all = True

    def __init__(self, make: Maker) -> None:
        self._make = make
        self._boards: WeakKeyDictionary[State, dict[int, Board]] = WeakKeyDictionary()

    def spots(self, room: Room, count: int) -> list[Spot]:
        """Return nodes for `count` tasks."""
        boards = self._boards.setdefault(room.state, {})
        board = boards.get(room.pool)
        demand = _demand(room.shape.need.per_task, room.shape.need.models)
        if board is None or not board.knows(demand):
            board = boards[room.pool] = Board(room, demand, self._make)
        return board.spots(room, demand, count)


class Board:
    """The scores of one policy in one pool, for what a snapshot has waiting."""

    def __init__(self, room: Room, demand: Demand, make: Maker) -> None:
        """Score all nodes for what waits, and for `demand`."""
        self._state = room.state
        self._snapshot: Snapshot = room.state.snapshot
        waiting = {_demand_of(one) for one in room.state.waiting.values()} | {demand}
        self._table = DemandTable(sorted(waiting))
        self._row = {one: row for row, one in enumerate(self._table.demands)}
        where = room.state.nodes.slices[room.pool]
        self._nodes = range(where.start, where.stop)
        seed = f"{room.state.policy.seed}:{room.state.now}"
        self._scores = make(self._table, _typical(self._snapshot), _scale(room), seed)
        self._matrix = np.full((len(waiting), len(self._nodes)), INFEASIBLE)
        self._seen = len(self._state.nodes.changed)
        self._score(self._nodes)

    def knows(self, demand: Demand) -> bool:
        """Tell whether the board still speaks of the state's snapshot, and of this demand."""
        return self._snapshot is self._state.snapshot and demand in self._row

    def spots(self, room: Room, demand: Demand, count: int) -> list[Spot]:
        """Return nodes for `count` tasks of the demand, placed one after another.

        The room may be that of a later moment, when a device is free that is not free yet.
        """
        self._refresh()
        place = self._row[demand]
        left = room.tasks.copy()
        row: IntArray = np.where(left > 0, self._matrix[place], INFEASIBLE)
        changed: dict[int, FreeNode] = {}
        chosen: Counter[int] = Counter()
        while True:
            node = self._choose(row, left)
            chosen[node] += 1
            left[node] -= 1
            if chosen.total() == count:
                return [(room.low + node, tasks) for node, tasks in chosen.items()]
            free = changed.get(node)
            if free is None:
                free = changed[node] = self._free(self._nodes[node])
            if not demand.is_share or free.largest >= demand.gpu_milli:
                free.take(demand, self._scores.devices(free, place))
            row[node] = self._scores.column(free)[place] if left[node] else INFEASIBLE

    def _choose(self, row: IntArray, left: IntArray) -> int:
        """Return the node of the best score.

        Shares may lie on devices so that more tasks fit than the policy's own choice would leave
        room for; then the first node with room takes the task.
        """
        node = self._scores.choose(row)
        return int(left.argmax()) if node is None else node

    def _refresh(self) -> None:
        changes = self._state.nodes.changed
        if self._seen != len(changes):
            inside = {node for node in changes[self._seen :] if node in self._nodes}
            self._seen = len(changes)
            self._score(sorted(inside))

    def _score(self, nodes: range | list[int]) -> None:
        for node in nodes:
            column = self._scores.column(self._free(node))
            self._matrix[:, node - self._nodes.start] = column

    def _free(self, node: int) -> FreeNode:
        nodes = self._state.nodes
        return FreeNode(
            int(nodes.cpu_free[node]),
            nodes.devices[node, : nodes.gpus[node]].tolist(),
            nodes.nodes[node].gpu_model or "",
            self._labels(node) if isinstance(self._scores, GpuClustering) else {},
        )

    def _labels(self, node: int) -> dict[int, int]:
        """Return how many tasks of each label the node runs; what is leaving counts no more."""
        labels: Counter[int] = Counter()
        for name in self._state.holds[node]:
            held = self._state.running.get(name)
            milli = 0 if held is None else held.workload.per_task.gpu_milli
            if held is not None and milli:
                tasks = sum(tasks for where, tasks, _ in held.spots if where == node)
                labels[milli // DEVICE or SHARE] += tasks
        return labels


def _demand(per_task: PerTask, models: tuple[str, ...]) -> Demand:
    return Demand.of(per_task.gpu_milli, per_task.cpu_milli, models)


def _demand_of(workload: Workload) -> Demand:
    return _demand(workload.per_task, workload.gpu_models)


def _typical(snapshot: Snapshot) -> Typical:
    counts: Counter[Demand] = Counter()
    for workload in snapshot.workloads:
        counts[_demand_of(workload)] += workload.tasks
    return Typical(counts)


def _scale(room: Room) -> Scale:
    nodes = room.state.nodes.nodes[room.state.nodes.slices[room.pool]]
    return Scale.of(
        max((node.cpu_milli for node in nodes), default=0),
        max((node.gpus for node in nodes), default=0) * DEVICE,
    )
