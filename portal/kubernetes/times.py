"""Kubernetes' way of writing instants."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=16384)
def moment(text: str) -> datetime:
    """The instant of an RFC 3339 time, UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def told_moment(text: object) -> datetime | None:
    """The same of what somebody may have made up; None for what is no instant."""
    try:
        return moment(str(text)) if text else None
    except (ValueError, OverflowError):
        return None
