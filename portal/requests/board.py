"""One pool over a window, read once: what is free, what a team may still take, what fits where.

Four queries for the pool, one for the quotas; every question after that is arithmetic, so that
looking for another time or another number asks the database nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.inventory import calendar
from portal.inventory.calendar import FOREVER, Hold, Period, Span
from portal.inventory.models import CommitmentKind
from portal.inventory.selectors import CommitmentRow, Fit, capacity, rows
from portal.quotas.models import Quota
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
    """A pool and one team's quota in it."""

    window: Period
    nodes: Sequence[Span]
    promised: Sequence[CommitmentRow]
    free: Steps
    guaranteed: Steps
    limit: Steps
    reserved: Steps
    fenced: Steps

    def short(self, ask: Ask) -> Fit | None:
        """Where the pool first has too little, by sum or by shape, and who holds it."""
        short = calendar.first_shortfall(
            self.nodes, [row.hold for row in self.promised], old=(), new=[ask.hold],
            window=Period(ask.starts_at, ask.ends_at),
        )  # fmt: skip
        return None if short is None else capacity.fit_of(short, self.promised)

    def room(self, source: str) -> Steps:
        """What the team's own quota still lets it take."""
        if source == Source.GUARANTEE:
            return calendar.less(self.guaranteed, self.fenced)
        return calendar.less(calendar.less(self.limit, self.guaranteed), self.reserved)

    def bound(self, ask: Ask) -> Bound | None:
        """Where the team's own quota first leaves too little."""
        short = slots.first_below(self.room(ask.source), ask.gpus, ask.starts_at, ask.ends_at)
        if short is None:
            return None
        at = short.from_at
        if ask.source == Source.GUARANTEE:
            rule, figure = Rule.GUARANTEE, slots.value_at(self.guaranteed, at)
        else:
            rule, figure = Rule.LIMIT, slots.value_at(self.limit, at)
        return Bound(
            rule=rule, at=at, figure=figure, held=figure - short.gpus, left=short.gpus,
            asked=ask.gpus,
        )  # fmt: skip

    def effect(self, ask: Ask) -> Effect:
        """What the team holds and has left at the tightest instant, this ask included."""
        room = self.room(ask.source)
        left = slots.lowest(room, ask.starts_at, ask.ends_at)
        at = slots.first_below(room, left + 1, ask.starts_at, ask.ends_at)
        instant = at.from_at if at else ask.starts_at
        if ask.source == Source.GUARANTEE:
            figure = slots.value_at(self.guaranteed, instant)
            return Effect(Rule.GUARANTEE, figure, figure - left + ask.gpus, left - ask.gpus)
        figure = slots.value_at(self.limit, instant)
        held = figure - left + ask.gpus
        if figure == NO_LIMIT:
            return Effect(Rule.LIMIT, None, held, None)
        return Effect(Rule.LIMIT, figure, held, left - ask.gpus)

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


def load(*, team_id: int, pool_id: int, window: Period) -> Board:
    """Read a pool and a team's quota in it."""
    nodes = rows.get_bookable(pool_id, window)
    promised = rows.get_commitments([pool_id], window)
    own = [row for row in promised if row.team_id == team_id]
    held = [row.hold for row in own if row.kind == CommitmentKind.RESERVATION]
    quotas = _quotas(team_id, pool_id, window)
    return Board(
        window=window,
        nodes=nodes,
        promised=promised,
        free=calendar.less(
            calendar.steps(nodes, window),
            calendar.steps((row.hold for row in promised if row.adds), window),
        ),
        guaranteed=calendar.steps([_span(q, q.guaranteed) for q in quotas], window),
        limit=_limit(quotas, window),
        reserved=calendar.steps((hold for hold in held if hold.adds), window),
        fenced=calendar.steps((hold for hold in held if not hold.adds), window),
    )


def whole_minute(instant: datetime) -> datetime:
    """This minute, or the next one when it has begun."""
    begun = instant.replace(second=0, microsecond=0)
    return begun if begun == instant else begun + MINUTE


def _quotas(team_id: int, pool_id: int, window: Period) -> list[Quota]:
    met = rows.overlapping(window, "valid_from", "valid_to")
    return list(Quota.objects.filter(met, team_id=team_id, pool_id=pool_id).order_by("valid_from"))


def _span(quota: Quota, gpus: int) -> Span:
    return Span(quota.valid_from, quota.valid_to or FOREVER, gpus)


def _limit(quotas: Sequence[Quota], window: Period) -> Steps:
    """The limit over time; where no quota says otherwise there is none."""
    lowered = [_span(q, NO_LIMIT - q.limit) for q in quotas if q.limit is not None]
    return calendar.less(slots.constant(NO_LIMIT, window), calendar.steps(lowered, window))
