"""The organisation's time, and real time.

Holds, ticks, the ledger and months follow `now`; sign-in sessions and the audit follow `real_now`.
Without an anchor the two are the same; a demo runs the first faster. Only doors call these:
everything below takes `now` as an argument.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

from django.db.models import Subquery

from portal.common import pages
from portal.common.models import ClockAnchor

_seen: ContextVar[dict[str, ClockAnchor | None] | None] = ContextVar("clock", default=None)

_COLUMNS = ("real_at", "organisation_at", "speed")
_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)


def real_now() -> datetime:
    """Real time, UTC."""
    return datetime.now(tz=UTC)


@pages.once_a_page
def now() -> datetime:
    """The organisation's time, UTC, to the microsecond; one instant for all of a page."""
    return at(real_now())


def at(real: datetime) -> datetime:
    """The organisation's time at a real instant."""
    anchor = _newest()
    if anchor is None:
        return real
    return anchor.organisation_at + (real - anchor.real_at) * anchor.speed


def speed() -> int:
    """Organisation seconds that pass in a real second."""
    anchor = _newest()
    return 1 if anchor is None else anchor.speed


@contextmanager
def remembered() -> Iterator[None]:
    """Read the anchor once while one request is answered: all of it is on one clock."""
    token = _seen.set({})
    try:
        yield
    finally:
        _seen.reset(token)


def _newest() -> ClockAnchor | None:
    seen = _seen.get()
    if seen is None:
        return ClockAnchor.objects.order_by("-id").first()
    if "anchor" not in seen:
        seen["anchor"] = ClockAnchor.objects.order_by("-id").first()
    return seen["anchor"]


def alongside() -> dict[str, Subquery]:
    """The newest anchor as columns of a query that is asked anyway; `take` reads them there."""
    newest = ClockAnchor.objects.order_by("-id")
    return {f"clock_{name}": Subquery(newest.values(name)[:1]) for name in _COLUMNS}


def take(row: object) -> None:
    """Remember the anchor that came with a row, where one request is answered."""
    seen = _seen.get()
    if seen is not None and "anchor" not in seen:
        found = {name: getattr(row, f"clock_{name}") for name in _COLUMNS}
        seen["anchor"] = None if found["real_at"] is None else ClockAnchor(**found)


def set_anchor(*, real_at: datetime, organisation_at: datetime, speed: int) -> None:
    """Let the organisation's time run from `organisation_at` at `speed` from `real_at` on."""
    seen = _seen.get()
    if seen is not None:
        seen.clear()
    ClockAnchor.objects.create(real_at=real_at, organisation_at=organisation_at, speed=speed)


def whole_seconds(instant: datetime) -> int:
    """Seconds since the epoch, rounded down: the engine's unit of time."""
    return (instant - _EPOCH) // _SECOND
