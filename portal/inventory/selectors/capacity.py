"""Capacity over time, what is promised of it, and what would still fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from portal.common import pages
from portal.inventory import calendar
from portal.inventory.calendar import Condition, Hold, Period, Shortfall, Span
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import rows
from portal.inventory.selectors.rows import CommitmentRow

SourceKey = tuple[CommitmentKind, int]
"""Kind and id of the row a promise stands for."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an ask fits; if not, where it first falls short and who holds what is missing.

    `free` is what the ask could have had at that instant: GPUs, or GPUs in whole blocks when
    the shape is what fails.
    """

    fits: bool
    at: datetime | None = None
    until: datetime | None = None
    measure: str = ""
    capacity: int = 0
    committed: int = 0
    asked: int = 0
    free: int = 0
    gpus_per_node: int | None = None
    blocking: tuple[CommitmentRow, ...] = ()


@dataclass(frozen=True, slots=True)
class CapacityPiece:
    """A node for a stretch in one condition; over a window all pieces are capacity x time."""

    node_id: int
    node_name: str
    gpus: int
    from_at: datetime
    to_at: datetime
    condition: Condition


def capacity_steps(
    *, pool_id: int, from_at: datetime, to_at: datetime | None = None
) -> tuple[Span, ...]:
    """Known nodes less maintenance over the window, without a gap; a node down still counts."""
    window = rows.window_of(from_at, to_at)
    return calendar.steps(rows.get_bookable(pool_id, window), window)


def committed_steps(
    *,
    pool_id: int,
    from_at: datetime,
    to_at: datetime | None = None,
    team_ids: Iterable[int] | None = None,
    kind: CommitmentKind | None = None,
    adds: bool = True,
) -> tuple[Span, ...]:
    """GPUs promised over the window, without a gap.

    `adds` false gives what is fenced inside guarantees instead, which is promised already.
    """
    window = rows.window_of(from_at, to_at)
    found = rows.get_commitments([pool_id], window, teams=team_ids, kind=kind)
    return calendar.steps((row.hold for row in found if row.adds is adds), window)


def free_steps(
    *, pool_id: int, from_at: datetime, to_at: datetime | None = None
) -> tuple[Span, ...]:
    """GPUs nobody was promised over the window; below zero where more is promised than there is."""
    return calendar.less(
        capacity_steps(pool_id=pool_id, from_at=from_at, to_at=to_at),
        committed_steps(pool_id=pool_id, from_at=from_at, to_at=to_at),
    )


def free_gpus(*, pool_id: int, from_at: datetime, to_at: datetime) -> int:
    """GPUs that are free during the whole window, never below zero."""
    found = free_steps(pool_id=pool_id, from_at=from_at, to_at=to_at)
    return max(0, min((step.gpus for step in found), default=0))


def list_commitments(
    *,
    pool_id: int | None = None,
    from_at: datetime,
    to_at: datetime | None = None,
    team_ids: Iterable[int] | None = None,
    kind: CommitmentKind | None = None,
) -> list[CommitmentRow]:
    """Promises that meet the window."""
    pools = None if pool_id is None else [pool_id]
    return rows.get_commitments(pools, rows.window_of(from_at, to_at), teams=team_ids, kind=kind)


def fits(
    *,
    pool_id: int,
    gpus: int,
    starts_at: datetime,
    ends_at: datetime | None,
    gpus_per_node: int | None = None,
    adds: bool = True,
    instead_of: SourceKey | None = None,
) -> Fit:
    """Whether this many GPUs could be promised; the same check `services.commit` makes.

    `instead_of` names the promise the ask would replace.
    """
    window = rows.window_of(starts_at, ends_at)
    ask = Hold(window.from_at, window.to_at, gpus, gpus_per_node, adds)
    found = rows.get_commitments([pool_id], window)
    old = [r for r in found if (r.kind, r.source_id) == instead_of]
    kept = [r for r in found if (r.kind, r.source_id) != instead_of]
    short = calendar.first_shortfall(
        rows.get_bookable(pool_id, window),
        [r.hold for r in kept],
        old=[r.hold for r in old],
        new=[ask],
        window=window,
    )
    return Fit(fits=True) if short is None else fit_of(short, kept)


def fit_of(short: Shortfall, kept: Sequence[CommitmentRow]) -> Fit:
    """A shortfall with those who hold what is missing, largest first."""
    holders = [
        r
        for r in kept
        if r.starts_at <= short.at < r.hold.to_at
        and (r.gpus_per_node if short.per_node else r.adds)
    ]
    return Fit(
        fits=False,
        at=short.at,
        until=short.until if short.until < calendar.FOREVER else None,
        measure=short.measure.value,
        capacity=short.capacity,
        committed=short.committed,
        asked=short.asked,
        free=short.free,
        gpus_per_node=short.per_node,
        blocking=tuple(sorted(holders, key=lambda r: (-r.gpus, r.starts_at, r.source_id))),
    )


def read_ahead(*, from_at: datetime, to_at: datetime | None = None, promises: bool = True) -> None:
    """Let a page read this time of all pools at once, to cut from it what it asks for after."""
    if not pages.being_read():
        return
    window = rows.window_of(from_at, to_at)
    pools = frozenset(pool.pk for pool in rows.get_pools())
    rows.get_lives(pools, window)
    if promises:
        rows.get_commitments(pools, window)


def capacity_pieces(*, pool_id: int, from_at: datetime, to_at: datetime) -> list[CapacityPiece]:
    """Per node the stretches ready, in maintenance and down, in order of node and time.

    Summed over all pieces, GPUs x time is the pool's capacity x time exactly: a stretch is in one
    piece only, planned maintenance coming before being down.
    """
    lives = rows.get_lives([pool_id], Period(from_at, to_at)).get(pool_id, [])
    return [
        CapacityPiece(
            node_id=life.id,
            node_name=life.name,
            gpus=life.gpus,
            from_at=piece.from_at,
            to_at=piece.to_at,
            condition=piece.condition,
        )
        for life in sorted(lives, key=lambda n: (n.name, n.id))
        for piece in life.pieces()
    ]
