"""From a period to priced lines, as drafts; nothing here writes.

A period is cut where rate cards change; each pool and stretch is measured, priced, and adds up to
its cost. Idle time is shared among the teams that have or use part of the pool, if the card says
so.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Q

from portal.common.clock import whole_seconds
from portal.finance import cards, measuring, pricing
from portal.finance.cards import Book
from portal.finance.measuring import Measured
from portal.finance.models import IdleRule, Month
from portal.finance.pricing import Draft, Stretch
from portal.inventory.models import Cluster
from portal.quotas.models import Quota
from portal.usage.models import GRID_SECONDS

BEHIND_FOR = timedelta(days=1)
"""A cluster not read for longer no longer holds up the others."""


def as_of(month: Month, now: datetime) -> datetime:
    """Up to when the ledger can be complete: the last grid line before now and before the reads."""
    seen = [at for at in Cluster.objects.values_list("seen_at", flat=True) if at is not None]
    last: datetime = min([now, *(at for at in seen if now - at < BEHIND_FOR)])
    on_grid = last - timedelta(
        seconds=whole_seconds(last) % GRID_SECONDS, microseconds=last.microsecond
    )
    return max(month.starts_at, min(month.ends_at, on_grid))


def clusters_behind(month: Month, now: datetime) -> list[str]:
    """Clusters whose use up to the month's end is not known yet, but will be soon."""
    return [
        cluster.name
        for cluster in Cluster.objects.filter(seen_at__lt=month.ends_at)
        if cluster.seen_at is not None and now - cluster.seen_at < BEHIND_FOR
    ]


def work_out(
    pool_ids: Sequence[int], from_at: datetime, to_at: datetime, *, book: Book | None = None
) -> list[Draft]:
    """Every line of a period: each pool and stretch adds up to its cost.

    `book` holds the prices, by default those that are set.
    """
    drafts: list[Draft] = []
    for cut in cards.stretches(pool_ids, from_at, to_at, book):
        first, last = cut[0].from_at, cut[0].to_at
        measured = measuring.measure(pool_ids=pool_ids, from_at=first, to_at=last)
        guarantees = _guarantees(first, last)
        for stretch in cut:
            found = measured[stretch.pool_id]
            weights = _weights(stretch, found, guarantees.get(stretch.pool_id, {}))
            drafts += pricing.price_pool(
                stretch, found.reckoning, holders=found.holders, weights=weights
            )
    return drafts


def _guarantees(from_at: datetime, to_at: datetime) -> dict[int, dict[int, int]]:
    """Guaranteed GPU-seconds by pool and team; 0 for a quota without a guarantee."""
    sums: dict[int, dict[int, int]] = {}
    dated = Quota.objects.filter(valid_from__lt=to_at)
    for quota in dated.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=from_at)):
        first, last = max(from_at, quota.valid_from), min(to_at, quota.valid_to or to_at)
        pool = sums.setdefault(quota.pool_id, {})
        held = quota.guaranteed * (whole_seconds(last) - whole_seconds(first))
        pool[quota.team_id] = pool.get(quota.team_id, 0) + held
    return sums


def _weights(stretch: Stretch, measured: Measured, guarantees: Mapping[int, int]) -> dict[int, int]:
    """By what the pool's idle time is shared among the teams that have or use part of it."""
    used: dict[int, int] = {}
    for key, quantity in measured.reckoning.use.items():
        if key.team_id is not None:
            used[key.team_id] = used.get(key.team_id, 0) + quantity
    match stretch.price.idle_rule:
        case IdleRule.BY_GUARANTEE:
            return dict(guarantees)
        case IdleRule.BY_USE:
            return used
        case IdleRule.EQUALLY:
            return dict.fromkeys(sorted({*used, *guarantees}), 1)
        case IdleRule.OWN_LINE:
            return {}
