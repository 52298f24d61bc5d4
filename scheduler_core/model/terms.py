"""What is agreed: policy, teams, pools, quotas, reservations, maintenance."""

from dataclasses import dataclass
from fractions import Fraction

from scheduler_core.model.words import Mode, Number, Sharing, Source


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whether and how running work may be stopped for other work."""

    enabled: bool = True
    strategies: tuple[str, ...] = ("final",)
    min_runtime_seconds: int = 0
    max_lost_gpu_seconds_per_cycle: int | None = None
    cost_gate: bool = True


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The switch between `pack` and `spread` by how full the cluster is, with hysteresis."""

    high: Fraction
    low: Fraction
    min_dwell_seconds: int = 0
    mode: Mode = "pack"
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How this cycle orders, places, backfills and preempts."""

    order: str = "fair_share"
    placement: str = "pack"
    backfill: str = "conservative"
    head_blocks: bool = False
    preemption: Preemption = Preemption(enabled=False)
    hybrid: Hybrid | None = None
    usage_weight_k: Number = 0
    half_life_seconds: int = 604_800
    aging_seconds_per_point: int = 0
    tick_seconds: int = 15
    seed: int = 0
    usage_capacity_milli: int | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """One node of the team tree; `used_gpu_seconds` is decayed to the snapshot's `now`."""

    name: str
    parent: str | None = None
    weight: Number = 1
    priority: int = 0
    used_gpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one GPU model and one sharing mode."""

    name: str
    sharing: Sharing = "dedicated"
    gpu_equivalent_milli: int = 1000
    topology_levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """What a team is promised and allowed in a pool, in milli-GPU, half-open in time."""

    team: str
    pool: str
    guaranteed: int
    limit: int | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    weight: Number | None = None
    per_user_limit: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None

    def valid_at(self, moment: int) -> bool:
        """Tell whether the quota holds at the moment."""
        return (self.valid_from is None or self.valid_from <= moment) and (
            self.valid_to is None or moment < self.valid_to
        )


@dataclass(frozen=True, slots=True)
class Reservation:
    """GPUs kept for a team from `starts_at` to `ends_at`, half-open."""

    id: str
    team: str
    pool: str
    gpu_milli: int
    starts_at: int
    ends_at: int
    source: Source = "pool"
    gpus_per_node: int | None = None

    def open_at(self, moment: int) -> bool:
        """Tell whether the reservation is open at the moment."""
        return self.starts_at <= moment < self.ends_at


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A node is out of service from `starts_at` to `ends_at`, half-open."""

    node: str
    starts_at: int
    ends_at: int


DEFAULT_POLICY = Policy()
"""The policy of a snapshot that names none."""
