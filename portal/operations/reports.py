"""Upkeep that runs by itself leaves its outcome here, for the doctor and the figures."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from portal.operations.models import Report

AUDIT, PRUNE, BACKUP = "audit", "prune", "backup"
NAMES = (AUDIT, PRUNE, BACKUP)


def note(
    *, name: str, ok: bool, now: datetime, says: str = "", figures: Mapping[str, int] | None = None
) -> None:
    """Keep how it went; `now` is real time."""
    Report.objects.update_or_create(
        name=name,
        defaults={"at": now, "ok": ok, "says": says[:400], "figures": dict(figures or {})},
    )


def is_due(name: str, *, every: timedelta, now: datetime) -> bool:
    """Whether it did not run, or not well, since so long; restarts of beat make no difference."""
    row = Report.objects.filter(name=name).first()
    return row is None or not row.ok or now - row.at >= every
