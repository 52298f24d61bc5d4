"""The organisation's time, and real time.

Holds, ticks, the ledger and months follow `now`; sign-in sessions and the audit follow `real_now`.
Without an anchor the two are the same; a demo runs the first faster. Only doors call these:
everything below takes `now` as an argument.
"""

from datetime import UTC, datetime, timedelta

from portal.common.models import ClockAnchor

_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)


def real_now() -> datetime:
    """Real time, UTC."""
    return datetime.now(tz=UTC)


def now() -> datetime:
    """The organisation's time, UTC, to the microsecond."""
    return at(real_now())


def at(real: datetime) -> datetime:
    """The organisation's time at a real instant."""
    anchor = ClockAnchor.objects.order_by("-id").first()
    if anchor is None:
        return real
    return anchor.organisation_at + (real - anchor.real_at) * anchor.speed


def speed() -> int:
    """Organisation seconds that pass in a real second."""
    anchor = ClockAnchor.objects.order_by("-id").first()
    return 1 if anchor is None else anchor.speed


def set_anchor(*, real_at: datetime, organisation_at: datetime, speed: int) -> None:
    """Let the organisation's time run from `organisation_at` at `speed` from `real_at` on."""
    ClockAnchor.objects.create(real_at=real_at, organisation_at=organisation_at, speed=speed)


def whole_seconds(instant: datetime) -> int:
    """Seconds since the epoch, rounded down: the engine's unit of time."""
    return (instant - _EPOCH) // _SECOND
