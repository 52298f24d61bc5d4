"""The grid: intervals cut at every fifth minute of UTC. Pure."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from portal.usage.models import GRID_SECONDS

GRID = timedelta(seconds=GRID_SECONDS)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def floor(instant: datetime) -> datetime:
    """The last grid line at or before an instant."""
    return instant - (instant - EPOCH) % GRID


def cells(starts_at: datetime, ends_at: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the half-open pieces of an interval, none across a grid line."""
    while starts_at < ends_at:
        line = min(floor(starts_at) + GRID, ends_at)
        yield starts_at, line
        starts_at = line
