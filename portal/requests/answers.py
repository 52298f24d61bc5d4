"""What can be said of an asking before it is submitted or approved: frozen, numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from portal.slas.selectors import Kept


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds what stands in the way; `until` None is for as long as the guarantee stands."""

    team_id: int
    kind: str
    source_id: int
    gpus: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Short:
    """Where the pool first has too little; with `per_node`, where nodes have too few whole parts."""

    at: datetime
    until: datetime | None
    capacity: int
    free: int
    asked: int
    per_node: int | None
    holders: tuple[Holder, ...]


class Rule(StrEnum):
    """Which figure of a quota binds."""

    LIMIT = "limit"
    GUARANTEE = "guarantee"


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a quota first leaves too little: the team's own or that of a branch it stands in."""

    rule: Rule
    team_id: int
    at: datetime
    figure: int
    held: int
    left: int
    asked: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What is left of the tightest figure once this is held; None where nothing binds."""

    rule: Rule
    team_id: int
    figure: int | None
    held: int
    left: int | None


@dataclass(frozen=True, slots=True)
class Price:
    """About what it costs, in micro-units, without tax."""

    micro: int
    currency: str


class WayKind(StrEnum):
    """In which respect an alternative differs from what was asked."""

    LATER = "later"
    FEWER = "fewer"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Way:
    """One thing to ask for instead, which fits."""

    kind: WayKind
    pool_id: int
    pool: str
    gpus: int
    starts_at: datetime
    ends_at: datetime
    price: Price | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Other submitted requests for the same time: the most they ask at once, and what stays."""

    count: int
    gpus: int
    left: int


@dataclass(frozen=True, slots=True)
class Displaced:
    """A team that would give back borrowed GPUs, as things stand now."""

    team_id: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Jobs the newest tick plans to start in the time asked for, and the GPUs they wait for."""

    jobs: int
    gpus: int


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What is free for others once a reservation ends earlier."""

    reservation_id: int
    gpus: int
    from_at: datetime
    to_at: datetime


@dataclass(frozen=True, slots=True)
class SlaAnswer:
    """A tier beside the one the team has, and how often it would have been kept lately."""

    tier: str
    seconds: int
    goal_permille: int
    had: str | None
    had_seconds: int | None
    would: Kept


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a reservation fits, and what it does to whom; `names` are the teams' by id."""

    fits: bool
    team_id: int
    names: Mapping[int, str]
    pool_id: int
    pool: str
    gpus: int
    gpus_per_node: int | None
    source: str
    starts_at: datetime
    ends_at: datetime
    free: int
    short: Short | None
    bound: Bound | None
    effect: Effect
    price: Price | None
    beyond_budget: str | None
    waiting: Waiting | None
    displaced: tuple[Displaced, ...]
    forecast: Forecast
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class QuotaAnswer:
    """Whether a guarantee can be promised, and what changes; figures by their column's name."""

    fits: bool
    team_id: int
    names: Mapping[int, str]
    pool_id: int
    pool: str
    from_at: datetime
    before: Mapping[str, int | None]
    after: Mapping[str, int | None]
    unpromised: int
    short: Short | None
    bound: Bound | None
    waiting: Waiting | None
