"""Reads of the ledger: who used how much of which pool, charged to what."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F, Q, QuerySet, Sum

from portal.usage.appending import SECOND
from portal.usage.cells import GRID
from portal.usage.models import LedgerEntry

Key = tuple[int | None, int, str]


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What one team (None: work of no team) held of one pool under one charge."""

    team_id: int | None
    pool_id: int
    charged_to: str
    gpu_milli_seconds: int


def sum_usage(
    *,
    from_at: datetime,
    to_at: datetime,
    team_ids: Collection[int] | None = None,
    pool_id: int | None = None,
) -> list[UsageSum]:
    """Sums over a half-open period, exact to the second; `team_ids` None is everybody.

    Rows inside the period are summed by the database; the few that reach over its ends are cut.
    """
    rows = LedgerEntry.objects.order_by()
    if team_ids is not None:
        rows = rows.filter(team_id__in=list(team_ids))
    if pool_id is not None:
        rows = rows.filter(pool_id=pool_id)
    totals: dict[Key, int] = defaultdict(int)
    inside = rows.filter(from_at__gte=from_at, from_at__lt=to_at, to_at__lte=to_at)
    for team_id, pool, charged_to, amount in inside.values_list(
        "team_id", "pool_id", "charged_to"
    ).annotate(amount=Sum(F("sign") * F("gpu_milli") * F("seconds"))):
        totals[team_id, pool, charged_to] += amount
    for key, amount in _cut(rows, from_at, to_at):
        totals[key] += amount
    ordered = sorted(totals.items(), key=lambda item: (item[0][1], item[0][0] or 0, item[0][2]))
    return [UsageSum(*key, amount) for key, amount in ordered if amount]


def _cut(rows: QuerySet[LedgerEntry], from_at: datetime, to_at: datetime) -> list[tuple[Key, int]]:
    """The parts, within the period, of rows that reach over one of its ends."""
    over_start = Q(from_at__gt=from_at - GRID, from_at__lt=from_at, to_at__gt=from_at)
    over_end = Q(from_at__gt=to_at - GRID, from_at__lt=to_at, to_at__gt=to_at)
    found: list[tuple[Key, int]] = []
    for row in rows.filter(over_start | over_end):
        held = (min(row.to_at, to_at) - max(row.from_at, from_at)) // SECOND
        key = (row.team_id, row.pool_id, row.charged_to)
        found.append((key, row.sign * row.gpu_milli * max(0, held)))
    return found
