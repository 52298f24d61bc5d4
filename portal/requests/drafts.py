"""A draft as it was typed, to fill its form again."""

from datetime import datetime
from typing import Any

from portal.requests import kinds, local_times
from portal.requests.models import Request


def typed(row: Request, zone: str) -> dict[str, Any]:
    """Values for the form of its kind, times on the clocks of a zone."""
    values: dict[str, Any] = {"team": row.team_id, "pool": row.pool_id, "reason": row.reason}
    for name in kinds.of(row).columns:
        value = getattr(row, name)
        if isinstance(value, datetime):
            values[name] = local_times.typed(value, zone)
        else:
            values[name] = "" if value is None else value
    return {**values, "zone": zone}
