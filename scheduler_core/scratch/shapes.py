"""What recurs: few distinct demands among many workloads, each kept once."""

from dataclasses import dataclass

from scheduler_core.model import Mode, PerTask, Topology, Workload
from scheduler_core.resources import DEVICE


@dataclass(frozen=True, eq=False, slots=True)
class Need:
    """What one task asks of a node. Compared by identity: equal needs are one object."""

    per_task: PerTask
    models: tuple[str, ...]
    tolerations: frozenset[str]
    zone: str | None

    @property
    def devices(self) -> int:
        """Return how many whole devices a task takes; 0 for none or a fraction."""
        return self.per_task.gpu_milli // DEVICE

    @property
    def is_fraction(self) -> bool:
        """Tell whether a task takes part of one device."""
        return 0 < self.per_task.gpu_milli < DEVICE


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """What a whole workload asks: tasks of one need, where they want to be. One object each."""

    need: Need
    tasks: int
    least: int
    topology: Topology | None
    placement: Mode | None

    @property
    def spreads(self) -> bool:
        """Tell whether its tasks go as far apart as they can, whatever the policy."""
        return self.placement == "spread"

    @property
    def gpu_milli(self) -> int:
        """Return the milli-GPU of all its tasks."""
        return self.tasks * self.need.per_task.gpu_milli


class Shapes:
    """Hands out one `Shape` for all workloads that ask the same."""

    def __init__(self) -> None:
        self._needs: dict[object, Need] = {}
        self._shapes: dict[object, Shape] = {}
        self._known: dict[str, tuple[Workload, Shape]] = {}

    def of(self, workload: Workload) -> Shape:
        """Return the shape of the workload, kept by its id as long as it is the same."""
        known = self._known.get(workload.id)
        if known is None or known[0] is not workload:
            known = self._known[workload.id] = workload, self._find(workload)
        return known[1]

    def _find(self, workload: Workload) -> Shape:
        per_task = workload.per_task
        need_key = (
            per_task.gpu_milli,
            per_task.cpu_milli,
            per_task.memory_mib,
            per_task.gpu_memory_mib,
            workload.gpu_models,
            workload.tolerations,
            workload.zone,
        )
        topology = workload.topology
        placement = workload.placement or ("spread" if workload.kind == "inference" else None)
        key = (
            need_key,
            workload.tasks,
            workload.min_tasks,
            topology and (topology.level, topology.required),
            placement,
        )
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(
                self._need(need_key, workload),
                workload.tasks,
                workload.min_tasks or workload.tasks,
                topology,
                placement,
            )
        return shape

    def _need(self, key: object, workload: Workload) -> Need:
        if key not in self._needs:
            self._needs[key] = Need(
                workload.per_task,
                workload.gpu_models,
                frozenset(workload.tolerations),
                workload.zone,
            )
        return self._needs[key]


def has_model(model: str | None, need: Need) -> bool:
    """Tell whether a node of this GPU model is one the need asks for."""
    return not need.models or model in need.models


def has_gpu_memory(memory_mib: int | None, need: Need) -> bool:
    """Tell whether a device has the memory; a fraction brings that fraction of it."""
    asked = need.per_task.gpu_memory_mib
    if not asked or not need.per_task.gpu_milli:
        return True
    if memory_mib is None:
        return False
    part = need.per_task.gpu_milli if need.is_fraction else 1000
    return memory_mib * part >= asked * 1000
