"""Months and days cut in a zone, stored times staying UTC; half-open throughout."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

YEARS = range(2000, 2200)
"""Years a calendar shows; others can be written down, and no zone or database can hold them all."""


def month_of(instant: datetime, zone: str) -> tuple[datetime, datetime]:
    """The UTC bounds of the month in `zone` that holds this instant."""
    local = instant.astimezone(ZoneInfo(zone))
    first = datetime(local.year, local.month, 1, tzinfo=ZoneInfo(zone))
    after = (first + timedelta(days=32)).replace(day=1)
    return first.astimezone(UTC), after.astimezone(UTC)


def day_of(instant: datetime, zone: str) -> tuple[datetime, datetime]:
    """The UTC bounds of the day in `zone` that holds this instant; 23 to 25 hours long."""
    local = instant.astimezone(ZoneInfo(zone))
    first = datetime(local.year, local.month, local.day, tzinfo=ZoneInfo(zone))
    return first.astimezone(UTC), (first + timedelta(days=1)).astimezone(UTC)
