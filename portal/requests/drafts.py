"""A draft as it was typed, to fill its form again."""

from datetime import datetime
from typing import Any

from portal.requests import kinds, local_times
from portal.requests.models import Request

INPUTS = {"about_id": "reservation", "tier_id": "tier", "team_id": "team", "pool_id": "pool"}
"""Columns whose input has another name."""


def input_of(column: str) -> str:
    """The input a column is filled in by."""
    return INPUTS.get(column, column)


def typed(row: Request, zone: str) -> dict[str, Any]:
    """Values for the form of its kind, times on the clocks of a zone."""
    values: dict[str, Any] = {"team": row.team_id, "pool": row.pool_id, "reason": row.reason}
    for column in kinds.of(row).columns:
        value, name = getattr(row, column), input_of(column)
        if isinstance(value, datetime):
            values[name] = local_times.typed(value, zone)
        else:
            values[name] = "" if value is None else value
    return {**values, "zone": zone}
