"""Kubernetes' way of writing instants."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=16384)
def moment(text: str) -> datetime:
    """The instant of an RFC 3339 time, UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
