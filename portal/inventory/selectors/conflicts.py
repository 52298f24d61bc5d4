"""What no longer adds up: shown until somebody resolves it, never dropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings

from portal.inventory import calendar
from portal.inventory.calendar import FOREVER, Condition, Excess, Measure, Period, Span
from portal.inventory.models import Pool
from portal.inventory.selectors import rows
from portal.inventory.selectors.rows import CommitmentRow, NodeLife


class Cause(StrEnum):
    """Why a pool has less than it promised, the mildest that explains it."""

    DOWN = "down"
    MAINTENANCE = "maintenance"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A stretch in which a pool promised more than it has; figures are those of `worst_at`.

    `to_at` None is without end. `short` is how many GPUs are missing: by sum, or in blocks that
    find no node. `down` and `maintenance` are GPUs out of use then.
    """

    pool_id: int
    pool_name: str
    measure: str
    cause: Cause
    from_at: datetime
    to_at: datetime | None
    worst_at: datetime
    capacity: int
    committed: int
    short: int
    down: int
    maintenance: int
    commitments: tuple[CommitmentRow, ...]


def list_conflicts(
    *, now: datetime, horizon: timedelta | None = None, pool_id: int | None = None
) -> list[ConflictRow]:
    """Every pool's stretches from now on in which more is promised than there is.

    A node that is down takes its GPUs away until `now + horizon` (by default
    `CONFLICT_HORIZON_DAYS`), so it touches what is open now and what opens within that time;
    removed nodes and maintenance count for as long as they last.
    """
    horizon = timedelta(days=settings.CONFLICT_HORIZON_DAYS) if horizon is None else horizon
    window = Period(now, FOREVER)
    pools = [pool for pool in rows.get_pools() if pool_id in (None, pool.pk)]
    promised: dict[int, list[CommitmentRow]] = {pool.pk: [] for pool in pools}
    lives = rows.get_lives(promised, window)
    for row in rows.get_commitments(promised, window):
        promised[row.pool_id].append(row)
    return [
        conflict
        for pool in pools
        for conflict in _conflicts_of(
            pool, lives.get(pool.pk, []), promised[pool.pk], Period(now, now + horizon)
        )
    ]


def _conflicts_of(
    pool: Pool, lives: Sequence[NodeLife], promised: Sequence[CommitmentRow], near: Period
) -> list[ConflictRow]:
    nodes = [span for life in lives for span in _usable(life, near)]
    found = calendar.excesses(nodes, [row.hold for row in promised], Period(near.from_at, FOREVER))
    return [_conflict(pool, excess, lives, promised, near) for excess in found]


def _usable(life: NodeLife, near: Period) -> list[Span]:
    """What can be relied on: less maintenance, and less being down in the near future."""
    if not life.outages:
        return life.spans(without={Condition.MAINTENANCE})
    soon = calendar.clip(life.known.from_at, life.known.to_at, near)
    spans = [
        part
        for span in life.spans(without={Condition.MAINTENANCE})
        if (part := _from(span, near.to_at))
    ]
    if soon:
        cut = calendar.pieces(soon, life.maintenance, life.outages)
        spans += [
            Span(p.from_at, p.to_at, life.gpus) for p in cut if p.condition is Condition.READY
        ]
    return spans


def _from(span: Span, at: datetime) -> Span | None:
    return Span(max(span.from_at, at), span.to_at, span.gpus) if span.to_at > at else None


def _conflict(
    pool: Pool,
    excess: Excess,
    lives: Sequence[NodeLife],
    promised: Sequence[CommitmentRow],
    near: Period,
) -> ConflictRow:
    sizes: dict[Condition, list[int]] = {condition: [] for condition in Condition}
    for life in lives:
        condition = _condition_at(life, excess.worst_at, near)
        if condition:
            sizes[condition].append(life.gpus)
    holders = [
        row
        for row in promised
        if row.starts_at < excess.to_at
        and row.hold.to_at > excess.from_at
        and (row.adds if excess.measure is Measure.SUM else row.gpus_per_node)
    ]
    return ConflictRow(
        pool_id=pool.pk,
        pool_name=pool.name,
        measure=excess.measure.value,
        cause=_cause(sizes, excess, promised),
        from_at=excess.from_at,
        to_at=excess.to_at if excess.to_at < FOREVER else None,
        worst_at=excess.worst_at,
        capacity=excess.capacity,
        committed=excess.committed,
        short=excess.short,
        down=sum(sizes[Condition.DOWN]),
        maintenance=sum(sizes[Condition.MAINTENANCE]),
        commitments=tuple(holders),
    )


def _condition_at(life: NodeLife, at: datetime, near: Period) -> Condition | None:
    """What the node is at an instant; one expected back after the horizon counts as ready."""
    found = next((p.condition for p in life.pieces() if p.from_at <= at < p.to_at), None)
    return Condition.READY if found is Condition.DOWN and at >= near.to_at else found


def _cause(
    sizes: dict[Condition, list[int]], excess: Excess, promised: Sequence[CommitmentRow]
) -> Cause:
    """Give the nodes back, first those down, then those in maintenance, and see what mends it."""
    at = excess.worst_at
    instant = Period(at, at + timedelta(microseconds=1))
    holds = [row.hold for row in promised if row.starts_at <= at < row.hold.to_at]
    ready = list(sizes[Condition.READY])
    for condition, cause in (
        (Condition.DOWN, Cause.DOWN),
        (Condition.MAINTENANCE, Cause.MAINTENANCE),
    ):
        ready += sizes[condition]
        nodes = [Span(instant.from_at, instant.to_at, gpus) for gpus in ready]
        left = {e.measure for e in calendar.excesses(nodes, holds, instant)}
        if excess.measure not in left:
            return cause
    return Cause.CAPACITY
