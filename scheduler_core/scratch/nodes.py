"""What is free on each node, in arrays, and how many tasks of a need each node takes.

Nodes are numbered pool by pool, inside a pool in the order of the list, so that a pool is a slice.
One decision changes one node: a `Column` of tasks per node brings itself up to date by looking
only at nodes that changed since it was last asked.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scheduler_core.model import Node, Pool
from scheduler_core.resources import DEVICE, Amount
from scheduler_core.scratch.shapes import Need

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PLENTY = 10**9
"""Tasks of a need that asks nothing of a node."""

_FEW = 48
"""Up to so many changed nodes are recomputed one by one."""


class Nodes:
    """Static facts and free amounts of all nodes.

    `devices` is free milli-GPU, one row a node, one column a device; `whole` counts devices that
    are wholly free. `schedulable` is what the list says; A number in `versions` never stands for two
    contents of a node; whoever undoes a change puts the number back. `usable` is false where nothing new may start.
    """

    def __init__(self, nodes: Sequence[Node], pools: Sequence[Pool]) -> None:
        rank = {pool.name: number for number, pool in enumerate(pools)}
        self.nodes = tuple(sorted(nodes, key=lambda node: rank[node.pool]))
        self.pools = tuple(pools)
        self.index = {node.name: number for number, node in enumerate(self.nodes)}
        self.pool_of = [rank[node.pool] for node in self.nodes]
        counts = [self.pool_of.count(number) for number in range(len(pools))]
        bounds = [0, *np.cumsum(counts, dtype=int).tolist()]
        self.slices = [slice(low, high) for low, high in pairwise(bounds)]
        self.gpus: Ints = np.array([node.gpus for node in self.nodes], dtype=np.int64)
        width = int(self.gpus.max(initial=0))
        self.devices = np.where(np.arange(width) < self.gpus[:, None], DEVICE, 0).astype(np.int64)
        self.whole = self.gpus.copy()
        self.gpu_free = self.gpus * DEVICE
        self.cpu_free: Ints = np.array([node.cpu_milli for node in self.nodes], dtype=np.int64)
        self.memory_free: Ints = np.array([node.memory_mib for node in self.nodes], dtype=np.int64)
        self.schedulable: Bools = np.array(
            [node.schedulable for node in self.nodes], dtype=np.bool_
        )
        self.usable = self.schedulable.copy()
        self.shared = [pool.sharing == "shared" for pool in self.pools]
        self.changed: list[int] = []
        self.versions = [0] * len(self.nodes)
        self._changes = 0

    def capacity(self, pool: int) -> Amount:
        """Return what the usable nodes of the pool have in all."""
        numbers = range(*self.slices[pool].indices(len(self.nodes)))
        usable = [self.nodes[number] for number in numbers if self.usable[number]]
        return Amount(
            sum(node.gpus for node in usable) * DEVICE,
            sum(node.cpu_milli for node in usable),
            sum(node.memory_mib for node in usable),
        )

    def choose_devices(self, node: int, need: Need, tasks: int) -> tuple[tuple[int, int], ...]:
        """Return devices for the tasks: lowest-index free ones, fractions on the fullest fit.

        The tasks must fit. Entries are (device, milli-GPU), one for each device.
        """
        row = self.devices[node]
        milli = need.per_task.gpu_milli
        if milli >= DEVICE:
            free = np.flatnonzero(row == DEVICE)[: need.devices * tasks]
            return tuple((device, DEVICE) for device in free.tolist())
        taken: dict[int, int] = {}
        left = row.tolist()
        for _ in range(tasks if milli else 0):
            fitting = [device for device, free in enumerate(left) if free >= milli]
            device = min(fitting, key=left.__getitem__)
            left[device] -= milli
            taken[device] = taken.get(device, 0) + milli
        return tuple(taken.items())

    def take(self, node: int, gpus: Sequence[tuple[int, int]], amount: Amount) -> None:
        """Take devices, CPU and memory; running work may overfill CPU and memory."""
        self._change(node, gpus, amount, -1)

    def give(self, node: int, gpus: Sequence[tuple[int, int]], amount: Amount) -> None:
        """Give back what was taken."""
        self._change(node, gpus, amount, 1)

    def _change(
        self, node: int, gpus: Sequence[tuple[int, int]], amount: Amount, sign: int
    ) -> None:
        row = self.devices[node]
        whole = 0
        for device, milli in gpus:
            before = int(row[device])
            after = before + sign * milli
            row[device] = after
            whole += (after == DEVICE) - (before == DEVICE)
        self.whole[node] += whole
        self.gpu_free[node] += sign * amount.gpu_milli
        self.cpu_free[node] += sign * amount.cpu_milli
        self.memory_free[node] += sign * amount.memory_mib
        self.changed.append(node)
        self._changes += 1
        self.versions[node] = self._changes

    def tasks(self, need: Need, pool: int, where: slice | Ints) -> Ints:
        """Return how many tasks the free amounts of each node take, whoever may use the node."""
        per_task = need.per_task
        shape = self.gpus[where].shape
        count: Ints = np.full(shape, PLENTY, dtype=np.int64)
        if need.devices:
            count = self.whole[where] // need.devices
        elif need.is_fraction:
            parts = self.devices[where] // per_task.gpu_milli
            count = parts.sum(axis=1) if self.shared[pool] else np.zeros(shape, dtype=np.int64)
        if per_task.cpu_milli:
            count = np.minimum(count, self.cpu_free[where] // per_task.cpu_milli)
        if per_task.memory_mib:
            count = np.minimum(count, self.memory_free[where] // per_task.memory_mib)
        return np.maximum(count, 0)

    def tasks_on(self, need: Need, node: int) -> int:
        """Return how many tasks the free amounts of one node take, whoever may use it."""
        per_task = need.per_task
        count = PLENTY
        if need.devices:
            count = int(self.whole[node]) // need.devices
        elif need.is_fraction:
            parts = int((self.devices[node] // per_task.gpu_milli).sum())
            count = parts if self.shared[self.pool_of[node]] else 0
        if per_task.cpu_milli:
            count = min(count, int(self.cpu_free[node]) // per_task.cpu_milli)
        if per_task.memory_mib:
            count = min(count, int(self.memory_free[node]) // per_task.memory_mib)
        return max(0, count)


class Column:
    """How many tasks of one need each node of one pool takes now. `tasks()` keeps itself fresh."""

    def __init__(self, nodes: Nodes, pool: int, need: Need, allowed: Bools) -> None:
        self._nodes = nodes
        self._pool = pool
        self._need = need
        self._slice = nodes.slices[pool]
        self.allowed = allowed
        self._tasks: Ints = np.zeros(0, dtype=np.int64)
        self._seen = -1
        self._total = -1

    def total(self) -> int:
        """Return how many tasks fit on all nodes together."""
        tasks = self.tasks()
        if self._total < 0:
            self._total = int(tasks.sum())
        return self._total

    def tasks(self) -> Ints:
        """Return the tasks that fit, one figure for each node of the pool. Do not change it."""
        changed = self._nodes.changed
        if self._seen != len(changed):
            news = changed[self._seen :] if self._seen >= 0 else None
            self._seen = len(changed)
            if news is None or len(news) > _FEW:
                self._total = -1
                fit = self._nodes.tasks(self._need, self._pool, self._slice)
                self._tasks = np.where(self.allowed, fit, 0)
            else:
                self._refresh(news)
        return self._tasks

    def _refresh(self, news: list[int]) -> None:
        """Count a few nodes anew, one by one, and keep the total true."""
        low, high = self._slice.start, self._slice.stop
        for node in set(news):
            if low <= node < high and self.allowed[node - low]:
                fit = self._nodes.tasks_on(self._need, node)
                before = int(self._tasks[node - low])
                if fit != before:
                    self._tasks[node - low] = fit
                    self._total += fit - before if self._total >= 0 else 0
