"""When each queue was last served: beat asks, a worker notes it in the cache all of them share."""

from datetime import datetime

from django.core.cache import cache

KEY = "operations.heartbeat.{queue}"


def note(*, queue: str, now: datetime) -> None:
    """Say that a message of this queue went from beat to a worker by now."""
    cache.set(KEY.format(queue=queue), now, timeout=None)


def last(queue: str) -> datetime | None:
    """When that was last so; None when it never was, or the cache was emptied since."""
    found = cache.get(KEY.format(queue=queue))
    return found if isinstance(found, datetime) else None
