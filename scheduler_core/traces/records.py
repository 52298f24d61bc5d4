"""What a trace says: jobs and nodes as plain records, whatever file they came from.

Times are whole seconds on the trace's own clock, which may start at 0 or at the Unix epoch; only
differences mean something. GPUs are milli-GPU, CPU millicores, memory MiB.
"""

from dataclasses import dataclass

WHOLE_GPU = 1000


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a trace: `tasks` equal tasks, each asking for the per-task amounts.

    `gpu_milli` is what one task asks for in all: 460 is a share of one device, 8000 eight whole
    ones. `duration_seconds` is None where the trace does not say how long the job ran, and
    `estimate_seconds` is what its owner said beforehand. `gpu_models` empty means any model.
    `waited_seconds` is the wait the original scheduler gave it, None where unknown. Only our own
    history knows what comes after, named as in the engine's workloads; `save_seconds` None is a job
    that cannot save.
    """

    id: str
    submitted_at: int
    duration_seconds: int | None
    gpu_milli: int
    tasks: int = 1
    cpu_milli: int = 0
    memory_mib: int = 0
    team: str = ""
    user: str = ""
    gpu_models: tuple[str, ...] = ()
    estimate_seconds: int | None = None
    waited_seconds: int | None = None
    kind: str = "batch"
    priority: int = 0
    preemptible: bool = True
    pool: str = ""
    min_tasks: int | None = None
    save_seconds: int | None = None
    restore_seconds: int | None = None

    @property
    def total_gpu_milli(self) -> int:
        """GPU of all tasks together, in milli-GPU."""
        return self.tasks * self.gpu_milli


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of a trace; `gpu_model` is empty where it has no GPUs or of unknown make."""

    name: str
    gpus: int
    cpu_milli: int
    memory_mib: int
    gpu_model: str = ""
