"""What the engine answers: a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_core.model.cluster import Placement
from scheduler_core.model.words import ChargedTo


@dataclass(frozen=True, slots=True)
class Start:
    """A workload to start once those in `after` are gone."""

    workload: str
    placements: tuple[Placement, ...]
    charged_to: ChargedTo
    backfilled: bool = False
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunningCharge:
    """To what this cycle charges a workload that runs on."""

    workload: str
    charged_to: ChargedTo


@dataclass(frozen=True, slots=True)
class Preempted:
    """A workload to stop; `tasks` is how many of its tasks go, null for all."""

    workload: str
    for_: str
    why: str
    tasks: int | None = None
    lost_gpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a workload waits, in one word and numbers, and when it is planned to start."""

    workload: str
    position: int
    reason: str
    detail: Mapping[str, object] = field(default_factory=dict)
    planned_start: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """What a team has in a pool, in milli-GPU; the ratios are for showing only."""

    team: str
    pool: str
    guaranteed: int
    reserved: int
    fair_share: int
    allocated: int
    borrowed: int
    lent: int
    available: int
    dominant_share: float
    satisfaction: float
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class QuotaOut:
    """What Kubernetes lets a team have in a pool, in whole devices."""

    team: str
    pool: str
    guaranteed_gpus: int
    burst_gpus: int


@dataclass(frozen=True, slots=True)
class Fairness:
    """Jain's index over allocated ÷ fair share, 1 when all are served alike."""

    jain: float = 1.0


@dataclass(frozen=True, slots=True)
class PoolFragmentation:
    """What is free in a pool, and how much of it typical work cannot use."""

    pool: str
    free_gpu_milli: int
    largest_on_one_node: int
    fragmented_gpu_milli: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer to one snapshot."""

    now: int
    starts: tuple[Start, ...] = ()
    running: tuple[RunningCharge, ...] = ()
    preemptions: tuple[Preempted, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    shares: tuple[Share, ...] = ()
    quotas: tuple[QuotaOut, ...] = ()
    fairness: Fairness = Fairness()
    placement_mode: str = "pack"
    fragmentation: tuple[PoolFragmentation, ...] = ()
