"""One pool over a window, read once: what is free, what a team may still take, what fits where.

Four queries for the pool, a few for the quotas; every question after that is arithmetic, so that
looking for another time or another number asks the database nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.inventory import calendar
from portal.inventory.calendar import Hold, Period, Span
from portal.inventory.selectors import CommitmentRow, Fit, capacity, rows
from portal.quotas import bounds
from portal.requests import slots
from portal.requests.answers import Bound, Effect, Rule
from portal.requests.slots import Steps
from portal.reservations.models import Source

NO_LIMIT = 1_000_000_000
MINUTE = timedelta(minutes=1)
TRIES = 100
"""So many beginnings are tried by shape before the search gives up."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A number of GPUs, in a shape, from one instant to another."""

    gpus: int
    gpus_per_node: int | None
    source: str
    starts_at: datetime
    ends_at: datetime

    @property
    def hold(self) -> Hold:
        """As the calendar's arithmetic sees it; from a guarantee it adds nothing."""
        adds = self.source == Source.POOL
        return Hold(self.starts_at, self.ends_at, self.gpus, self.gpus_per_node, adds)


@dataclass(frozen=True, slots=True)
class Board:
    """A pool, and what the quotas of a team and of the branches above it leave there."""

    window: Period
    nodes: Sequence[Span]
    promised: Sequence[CommitmentRow]
    free: Steps
    limits: Sequence[bounds.Bound]
    fences: Sequence[bounds.Fence]

    def short(self, ask: Ask) -> Fit | None:
        """Where the pool first has too little, by sum or by shape, and who holds it."""
        short = calendar.first_shortfall(
            self.nodes, [row.hold for row in self.promised], old=(), new=[ask.hold],
            window=Period(ask.starts_at, ask.ends_at),
        )  # fmt: skip
        return None if short is None else capacity.fit_of(short, self.promised)

    def room(self, source: str) -> Steps:
        """What the quotas still let the team take."""
        if source == Source.GUARANTEE:
            return [Span(f.from_at, f.to_at, f.left) for f in self.fences]
        room = slots.constant(NO_LIMIT, self.window)
        for team_id in dict.fromkeys(b.team_id for b in self.limits):
            left = [Span(b.from_at, b.to_at, _left(b)) for b in self.limits if b.team_id == team_id]
            room = slots.smaller(room, left)
        return room

    def bound(self, ask: Ask) -> Bound | None:
        """Where the quotas first leave too little, and whose."""
        short = slots.first_below(self.room(ask.source), ask.gpus, ask.starts_at, ask.ends_at)
        return None if short is None else self._binding(ask, short.from_at)

    def effect(self, ask: Ask) -> Effect:
        """What is held and left where it is tightest, this ask included."""
        room = self.room(ask.source)
        left = slots.lowest(room, ask.starts_at, ask.ends_at)
        tightest = slots.first_below(room, left + 1, ask.starts_at, ask.ends_at)
        found = self._binding(ask, tightest.from_at if tightest else ask.starts_at)
        held = found.held + ask.gpus
        if found.figure == NO_LIMIT:
            return Effect(found.rule, found.team_id, None, held, None)
        return Effect(found.rule, found.team_id, found.figure, held, found.left - ask.gpus)

    def _binding(self, ask: Ask, at: datetime) -> Bound:
        """The tightest figure at an instant."""
        if ask.source == Source.GUARANTEE:
            fence = next(f for f in reversed(self.fences) if f.from_at <= at)
            return Bound(
                rule=Rule.GUARANTEE, team_id=self.limits[0].team_id, at=at,
                figure=fence.guaranteed, held=fence.fenced, left=fence.left, asked=ask.gpus,
            )  # fmt: skip
        holding = [b for b in self.limits if b.from_at <= at < b.to_at]
        tight = min(holding, key=_left)
        return Bound(
            rule=Rule.LIMIT, team_id=tight.team_id, at=at,
            figure=NO_LIMIT if tight.limit is None else tight.limit,
            held=tight.guaranteed + tight.reserved, left=_left(tight), asked=ask.gpus,
        )  # fmt: skip

    def fits(self, ask: Ask) -> bool:
        """Whether pool and quota both allow it."""
        return self.bound(ask) is None and self.short(ask) is None

    def later(self, ask: Ask) -> Ask | None:
        """The same for the same length at the first later time at which it fits."""
        length = ask.ends_at - ask.starts_at
        series = self.room(ask.source)
        if ask.source == Source.POOL:
            series = slots.smaller(series, self.free)
        tried = 0
        for at in slots.beginnings(series, ask.gpus, length):
            begins = whole_minute(at)
            if begins <= ask.starts_at or begins + length > self.window.to_at:
                continue
            moved = Ask(
                ask.gpus, ask.gpus_per_node, ask.source, begins, begins + length
            )  # fmt: skip
            if self.fits(moved):
                return moved
            tried += 1
            if tried == TRIES:
                break
        return None

    def fewer(self, ask: Ask) -> Ask | None:
        """The most GPUs of the same shape that fit at the time asked for."""
        step = ask.gpus_per_node or 1
        low, high = 0, ask.gpus // step - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(self._sized(ask, middle * step)):
                low = middle
            else:
                high = middle - 1
        found = self._sized(ask, low * step)
        return found if low > 0 and self.fits(found) else None

    def _sized(self, ask: Ask, gpus: int) -> Ask:
        return Ask(gpus, ask.gpus_per_node, ask.source, ask.starts_at, ask.ends_at)


def load(*, team_id: int, pool_id: int, window: Period, now: datetime) -> Board:
    """Read a pool and the quotas that bind a team in it."""
    nodes = rows.get_bookable(pool_id, window)
    promised = rows.get_commitments([pool_id], window)
    where = {"team_id": team_id, "pool_id": pool_id}
    return Board(
        window=window,
        nodes=nodes,
        promised=promised,
        free=calendar.less(
            calendar.steps(nodes, window),
            calendar.steps((row.hold for row in promised if row.adds), window),
        ),
        limits=bounds.list_bounds(**where, from_at=window.from_at, to_at=window.to_at, now=now),
        fences=bounds.list_fences(**where, from_at=window.from_at, to_at=window.to_at),
    )


def whole_minute(instant: datetime) -> datetime:
    """This minute, or the next one when it has begun."""
    begun = instant.replace(second=0, microsecond=0)
    return begun if begun == instant else begun + MINUTE


def _left(bound: bounds.Bound) -> int:
    return NO_LIMIT if bound.left is None else bound.left
