"""Reasons that last as long as the pool is what it is: measured on the pool with nothing running.

Nodes that are closed for a while count: they come back.
"""

import numpy as np

from scheduler_core.explain.measures import gang_fits
from scheduler_core.model import NODE_LEVEL
from scheduler_core.resources import DEVICE
from scheduler_core.scratch import Need, Shape, State
from scheduler_core.scratch.nodes import PLENTY, Bools, Ints
from scheduler_core.scratch.shapes import has_gpu_memory, has_model

Found = dict[str, dict[str, object]]


class Lasting:
    """Answers once for each shape and pool."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[tuple[int, Shape], Found] = {}

    def reasons(self, shape: Shape, pool: int) -> Found:
        """Return the lasting reasons that apply."""
        if (pool, shape) not in self._known:
            self._known[pool, shape] = self._measure(shape, pool)
        return self._known[pool, shape]

    def _measure(self, shape: Shape, pool: int) -> Found:
        found: Found = {}
        need = shape.need
        if need.is_fraction and not self._state.nodes.shared[pool]:
            asked = need.per_task.gpu_milli
            found["fraction_on_dedicated_pool"] = {"gpu_milli": asked}
        nodes = self._state.nodes.nodes[self._state.nodes.slices[pool]]
        models = np.array([has_model(node.gpu_model, need) for node in nodes], dtype=np.bool_)
        enough = np.array(
            [has_gpu_memory(node.gpu_memory_mib, need) for node in nodes], dtype=np.bool_
        )
        if not models.any():
            found["gpu_model_absent"] = {"gpu_models": list(need.models)}
        elif not (models & enough).any():
            most = max((node.gpu_memory_mib or 0 for node in nodes), default=0)
            asked_mib = need.per_task.gpu_memory_mib
            found["gpu_memory_short"] = {"gpu_memory_mib": asked_mib, "largest_mib": most}
        else:
            found |= self._where_it_fits(shape, pool, models & enough)
        return found

    def _where_it_fits(self, shape: Shape, pool: int, able: Bools) -> Found:
        nodes = self._state.nodes.nodes[self._state.nodes.slices[pool]]
        need = shape.need
        empty = np.where(able, self._empty(need, pool), 0)
        if int(empty.sum()) < shape.least:
            most = int(self._state.nodes.gpus[self._state.nodes.slices[pool]].max(initial=0))
            return {
                "never_fits": {
                    "asks_gpu_milli": shape.gpu_milli,
                    "needs_on_one_node": need.per_task.gpu_milli,
                    "largest_node_gpu_milli": most * DEVICE,
                    "tasks": shape.least,
                    "tasks_that_fit": int(empty.sum()),
                }
            }
        in_zone = np.array([need.zone in (None, node.zone) for node in nodes], dtype=np.bool_)
        tolerated = np.array(
            [need.tolerations.issuperset(node.taints) for node in nodes], dtype=np.bool_
        )
        found: Found = {}
        if int(empty[in_zone].sum()) < shape.least:
            found["zone"] = {"zone": need.zone}
        if int(empty[in_zone & tolerated].sum()) < shape.least and "zone" not in found:
            found["taint"] = {"tolerations": sorted(need.tolerations)}
        reachable = np.where(in_zone & tolerated, empty, 0)
        if not found and not self._domain_holds(shape, pool, reachable):
            assert shape.topology is not None
            found["topology"] = {"level": shape.topology.level, "tasks": shape.least}
        return found

    def _domain_holds(self, shape: Shape, pool: int, tasks: Ints) -> bool:
        topology = shape.topology
        if topology is None or not topology.required:
            return True
        levels = (*self._state.snapshot.pools[pool].topology_levels, NODE_LEVEL)
        return topology.level in levels and gang_fits(self._state, shape, pool, tasks)

    def _empty(self, need: Need, pool: int) -> Ints:
        """Return how many tasks each node takes with nothing running."""
        where = self._state.nodes.slices[pool]
        nodes = self._state.nodes.nodes[where]
        gpus = self._state.nodes.gpus[where]
        per_task = need.per_task
        count: Ints = np.full(gpus.shape, PLENTY, dtype=np.int64)
        if need.devices:
            count = gpus // need.devices
        elif need.is_fraction:
            count = gpus * (DEVICE // per_task.gpu_milli)
        if per_task.cpu_milli:
            cpu = np.array([node.cpu_milli for node in nodes], dtype=np.int64)
            count = np.minimum(count, cpu // per_task.cpu_milli)
        if per_task.memory_mib:
            memory = np.array([node.memory_mib for node in nodes], dtype=np.int64)
            count = np.minimum(count, memory // per_task.memory_mib)
        return count
