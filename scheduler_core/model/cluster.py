"""What is there and what is asked: nodes, workloads, and the snapshot of it all."""

from dataclasses import dataclass

from scheduler_core.model.terms import (
    DEFAULT_POLICY,
    Maintenance,
    Policy,
    Pool,
    Quota,
    Reservation,
    Team,
)
from scheduler_core.model.words import Kind, Mode
from scheduler_core.resources import Amount


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: `gpus` equal devices, CPU in millicores, memory in MiB."""

    name: str
    pool: str
    gpus: int
    cpu_milli: int
    memory_mib: int
    gpu_model: str | None = None
    gpu_memory_mib: int | None = None
    topology: tuple[str, ...] = ()
    schedulable: bool = True
    taints: tuple[str, ...] = ()
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class PerTask:
    """What each task of a workload takes; `gpu_memory_mib` is per whole device."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_memory_mib: int | None = None

    @property
    def amount(self) -> Amount:
        """Return the three resources of one task."""
        return Amount(self.gpu_milli, self.cpu_milli, self.memory_mib)


@dataclass(frozen=True, slots=True)
class Topology:
    """Where the tasks of one workload want to be together."""

    level: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How long saving and restoring take, and when the state was last saved."""

    save_seconds: int = 0
    restore_seconds: int = 0
    last_saved_at: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Tasks on one node, and the milli-GPU taken from each of its devices."""

    node: str
    tasks: int
    gpus: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """Since when and where a workload runs; `stopping_for` names whom it was preempted for."""

    started_at: int
    placements: tuple[Placement, ...]
    stopping_for: str | None = None

    @property
    def tasks(self) -> int:
        """Return how many tasks run."""
        return sum(placement.tasks for placement in self.placements)


@dataclass(frozen=True, slots=True)
class Workload:
    """A job: equal tasks that wait (`running` is null) or run.

    `placement` null is the policy's, and `spread` for inference.
    """

    id: str
    team: str
    submitted_at: int
    tasks: int
    per_task: PerTask
    user: str | None = None
    pool: str | None = None
    reservation: str | None = None
    kind: Kind = "batch"
    priority: int = 0
    min_tasks: int | None = None
    gpu_models: tuple[str, ...] = ()
    tolerations: tuple[str, ...] = ()
    zone: str | None = None
    topology: Topology | None = None
    placement: Mode | None = None
    duration_seconds: int | None = None
    preemptible: bool = True
    target_wait_seconds: int | None = None
    checkpoint: Checkpoint | None = None
    running: Running | None = None

    @property
    def gpu_milli(self) -> int:
        """Return the milli-GPU of all its tasks."""
        return self.tasks * self.per_task.gpu_milli

    @property
    def ask(self) -> Amount:
        """Return the resources of all its tasks."""
        return self.per_task.amount.times(self.tasks)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All the engine sees of one cluster at one moment."""

    now: int
    policy: Policy = DEFAULT_POLICY
    teams: tuple[Team, ...] = ()
    pools: tuple[Pool, ...] = ()
    quotas: tuple[Quota, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    nodes: tuple[Node, ...] = ()
    workloads: tuple[Workload, ...] = ()
