"""Reads of tiers, promises, how often they were kept, and what was not."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from portal.common.errors import Missing
from portal.slas import tallying, targets
from portal.slas.models import Breach, Sla, Tier
from portal.slas.tallying import NOTHING, Kept, Waits
from portal.slas.targets import SlaRow, Targets
from portal.workloads.models import Workload

WAITS = Waits(
    begun="submitted_at",
    until=Coalesce("scheduled_at", "ended_at"),
    served=Q(scheduled_at__isnull=False),
    still=Q(scheduled_at__isnull=True, ended_at__isnull=True),
)
"""A job waits until it starts, or ends without having started."""


__all__ = [
    "NOTHING",
    "Kept",
    "count_within",
    "get_breach",
    "list_kept",
    "list_slas",
    "list_tiers",
    "query_breaches",
]


def list_tiers() -> list[Tier]:
    """Tiers one may still give, the strictest first."""
    return list(Tier.objects.filter(retired_at__isnull=True))


def list_slas(*, at: datetime | None = None, team_ids: Iterable[int] | None = None) -> list[SlaRow]:
    """Promises by team and pool, oldest first; at an instant, those that hold or begin later."""
    rows = Sla.objects.select_related("tier", "pool")
    if at is not None:
        rows = rows.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=at))
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    return [targets.row_of(row) for row in rows.order_by("team_id", "pool_id", "valid_from")]


def list_kept(
    *, from_at: datetime, now: datetime, promised: Targets | None = None
) -> dict[int, Kept]:
    """By promise, how often jobs submitted from `from_at` on started in time: one query.

    `promised` are the promises since then, where they have been read already.
    """
    found = promised or targets.get_targets(now=now, from_at=from_at)
    jobs = Workload.objects.filter(team__isnull=False)
    return tallying.tally(
        jobs, WAITS, found, lambda sla: sla.target_wait_seconds, from_at=from_at, now=now
    )


def count_within(
    *, team_id: int, pool_id: int, seconds: int, from_at: datetime, now: datetime
) -> Kept:
    """How often a target would have been kept by a team's jobs submitted from `from_at` on."""
    jobs = Workload.objects.filter(team_id=team_id, pool_id=pool_id)
    return tallying.count(jobs, WAITS, seconds, from_at=from_at, now=now)


def query_breaches(
    *, team_ids: frozenset[int] | None, kind: str | None = None, team_id: int | None = None,
    acknowledged: bool | None = None, late: bool | None = None,
) -> QuerySet[Breach]:  # fmt: skip
    """Breaches of these teams (None: of all) for a list that is paged by the database."""
    rows = Breach.objects.select_related("sla__tier", "team", "workload", "owner")
    if team_ids is not None:
        rows = rows.filter(team_id__in=team_ids)
    wanted = {"kind": kind, "team_id": team_id}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    if acknowledged is not None:
        rows = rows.filter(acknowledged_at__isnull=not acknowledged)
    if late is not None:
        rows = rows.filter(ended_at__isnull=late)
    return rows.order_by("-due_at", "-id")


def get_breach(*, breach_id: int) -> Breach:
    """One breach with what it names. Raises `Missing`."""
    rows = Breach.objects.select_related("sla__tier", "team", "workload", "owner")
    row = rows.filter(pk=breach_id).first()
    if row is None:
        raise Missing
    return row
