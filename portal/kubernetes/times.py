"""Kubernetes' way of writing instants."""

from datetime import UTC, datetime


def moment(text: str) -> datetime:
    """The instant of an RFC 3339 time, UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
