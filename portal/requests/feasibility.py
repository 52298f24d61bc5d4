"""Whether what is asked fits, what stands in the way, what else would fit, and what it costs.

The same arithmetic as the booking itself, over the pool read once (`board`). Nothing is written
and nothing is promised: between this answer and an approval others may be faster.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from portal.inventory import calendar
from portal.inventory import selectors as inventory
from portal.inventory.calendar import FOREVER, Hold, Period, Span
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import Fit, capacity
from portal.quotas import bounds
from portal.requests import board, lending, pricing, quota_figures, selectors, slots
from portal.requests.answers import (
    Answer,
    Bound,
    Holder,
    QuotaAnswer,
    Rule,
    Short,
    Waiting,
    Way,
    WayKind,
)
from portal.requests.board import Ask, Board
from portal.reservations.models import Source
from portal.teams import selectors as teams

AHEAD = timedelta(days=60)
"""How far after the asked time a later one is looked for."""
MOST_POOLS = 3


def check(
    *,
    team_id: int,
    pool_id: int,
    gpus: int,
    gpus_per_node: int | None,
    source: str,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    without: int | None = None,
) -> Answer:
    """Say all there is to say of a reservation; `without` leaves one request out of those waiting.

    A start that has passed counts as now. Raises `Missing` for a pool there is not.
    """
    pool = inventory.get_pool(pool_id=pool_id, now=now)
    begins = board.whole_minute(now) if starts_at < now else starts_at
    ask = Ask(gpus, gpus_per_node, source, begins, max(ends_at, begins + board.MINUTE))
    seen = _read(team_id, pool_id, ask, now)
    fit, bound = seen.short(ask), seen.bound(ask)
    fits, price = fit is None and bound is None, pricing.estimate(pool_id, ask)
    return Answer(
        fits=fits,
        team_id=team_id,
        names=teams.team_names(),
        pool_id=pool_id,
        pool=pool.name,
        gpus=gpus,
        gpus_per_node=gpus_per_node,
        source=source,
        starts_at=ask.starts_at,
        ends_at=ask.ends_at,
        free=max(0, slots.lowest(seen.free, ask.starts_at, ask.ends_at)),
        short=_short(fit),
        bound=bound,
        effect=seen.effect(ask),
        price=price,
        beyond_budget=pricing.beyond_budget(team_id, ask, price, now),
        waiting=_waiting(seen, pool_id, ask, now, without),
        displaced=lending.displaced(team_id, pool, ask) if fits else (),
        forecast=lending.planned(team_id, pool, ask),
        ways=() if fits else tuple(_ways(seen, pool, team_id, ask, now)),
    )


def check_quota(
    *,
    team_id: int,
    pool_id: int,
    figures: Mapping[str, int | None],
    from_at: datetime | None,
    now: datetime,
    without: int | None = None,
) -> QuotaAnswer:
    """Say whether a guarantee can be promised from then on without end, and what changes."""
    pool = inventory.get_pool(pool_id=pool_id, now=now)
    begins = max(from_at or now, now)
    window = Period(begins, FOREVER)
    seen = board.load(team_id=team_id, pool_id=pool_id, window=window, now=now)
    wanted = figures.get("guaranteed") or 0
    own = [r for r in seen.promised if r.kind == CommitmentKind.QUOTA and r.team_id == team_id]
    kept = [r for r in seen.promised if r not in own]
    short = calendar.first_shortfall(
        seen.nodes, [r.hold for r in kept], old=[r.hold for r in own],
        new=[Hold(begins, FOREVER, wanted)], window=window,
    )  # fmt: skip
    bound = _quota_bound(seen, team_id, figures)
    left = calendar.less(
        calendar.less(calendar.steps(seen.nodes, window), _promised(kept, window)),
        slots.constant(wanted, window),
    )
    return QuotaAnswer(
        fits=short is None and bound is None,
        team_id=team_id,
        names=teams.team_names(),
        pool_id=pool_id,
        pool=pool.name,
        from_at=begins,
        before=quota_figures.get(team_id=team_id, pool_id=pool_id, at=begins),
        after=dict(figures),
        unpromised=max(0, slots.lowest(left, begins, FOREVER)),
        short=_short(capacity.fit_of(short, kept)) if short else None,
        bound=bound,
        waiting=_others(left, pool_id, window, now, without),
    )


def _read(team_id: int, pool_id: int, ask: Ask, now: datetime) -> Board:
    window = Period(ask.starts_at, ask.ends_at + AHEAD)
    return board.load(team_id=team_id, pool_id=pool_id, window=window, now=now)


def _promised(kept: Iterable[inventory.CommitmentRow], window: Period) -> tuple[Span, ...]:
    return calendar.steps((r.hold for r in kept if r.adds), window)


def _quota_bound(seen: Board, team_id: int, figures: Mapping[str, int | None]) -> Bound | None:
    """Where a limit, or what is set aside of the guarantee, would be broken worse than it is."""
    wanted = figures.get("guaranteed") or 0
    found = [
        bound
        for fence in seen.fences
        for limit in seen.limits
        if calendar.clip(limit.from_at, limit.to_at, Period(fence.from_at, fence.to_at))
        and (bound := _limit_bound(limit, fence, team_id, figures))
    ]
    found += [
        Bound(
            rule=Rule.GUARANTEE, team_id=team_id, at=fence.from_at, figure=wanted,
            held=fence.fenced, left=wanted - fence.fenced, asked=0,
        )
        for fence in seen.fences
        if fence.fenced - wanted > max(0, fence.fenced - fence.guaranteed)
    ]  # fmt: skip
    return min(found, key=lambda bound: bound.at, default=None)


def _limit_bound(
    limit: bounds.Bound, fence: bounds.Fence, team_id: int, figures: Mapping[str, int | None]
) -> Bound | None:
    wanted = figures.get("guaranteed") or 0
    figure = figures.get("limit") if limit.team_id == team_id else limit.limit
    others = limit.guaranteed + limit.reserved - fence.guaranteed
    before = max(0, -(limit.left or 0))
    if figure is None or others + wanted - figure <= before:
        return None
    return Bound(
        rule=Rule.LIMIT, team_id=limit.team_id, at=max(limit.from_at, fence.from_at),
        figure=figure, held=others, left=figure - others, asked=wanted,
    )  # fmt: skip


def _short(fit: Fit | None) -> Short | None:
    if fit is None or fit.at is None:
        return None
    holders = [
        Holder(
            team_id=row.team_id, kind=row.kind.value, source_id=row.source_id, gpus=row.gpus,
            until=row.ends_at,
        )
        for row in fit.blocking
    ]  # fmt: skip
    return Short(
        at=fit.at, until=fit.until, capacity=fit.capacity, free=fit.free, asked=fit.asked,
        per_node=fit.gpus_per_node, holders=tuple(holders),
    )  # fmt: skip


def _waiting(
    seen: Board, pool_id: int, ask: Ask, now: datetime, without: int | None
) -> Waiting | None:
    taken = ask.gpus if ask.source == Source.POOL else 0
    window = Period(ask.starts_at, ask.ends_at)
    inside = calendar.steps(seen.free, window)
    left = calendar.less(inside, slots.constant(taken, window))
    return _others(left, pool_id, window, now, without)


def _others(
    left: slots.Steps, pool_id: int, window: Period, now: datetime, without: int | None
) -> Waiting | None:
    """Soft holds in the window against what is left there."""
    others = selectors.list_soft_holds(
        pool_id=pool_id, from_at=window.from_at, to_at=window.to_at, now=now, without=without
    )
    if not others:
        return None
    held = calendar.steps((Span(h.starts_at, h.ends_at, h.gpus) for h in others), window)
    remains = calendar.less(left, held)
    return Waiting(
        count=len({h.request_id for h in others}),
        gpus=max(step.gpus for step in held),
        left=slots.lowest(remains, window.from_at, window.to_at),
    )


def _ways(
    seen: Board, pool: inventory.PoolRow, team_id: int, ask: Ask, now: datetime
) -> Iterable[Way]:
    """The nearest things that fit: fewer now, the same later, the same elsewhere."""
    fewer, later = seen.fewer(ask), seen.later(ask)
    if fewer:
        yield _way(WayKind.FEWER, pool, fewer)
    if later:
        yield _way(WayKind.LATER, pool, later)
    found = 0
    for other in inventory.list_pools(now=now):
        if other.id == pool.id or other.gpus < ask.gpus or found == MOST_POOLS:
            continue
        if _read(team_id, other.id, ask, now).fits(ask):
            found += 1
            yield _way(WayKind.POOL, other, ask)


def _way(kind: WayKind, pool: inventory.PoolRow, ask: Ask) -> Way:
    return Way(
        kind=kind, pool_id=pool.id, pool=pool.name, gpus=ask.gpus, starts_at=ask.starts_at,
        ends_at=ask.ends_at, price=pricing.estimate(pool.id, ask),
    )  # fmt: skip
