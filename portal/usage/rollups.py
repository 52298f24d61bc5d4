"""Hourly sums of the ledger: made, checked against it, and never part of a bill.

Every sum here is the ledger's own, over rows that lie within one hour, since cells never cross one.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Case, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncHour

from portal.inventory.models import Pool
from portal.usage.models import HourlyUse, LedgerEntry, StaleHour

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
KEY = (
    "pool_id", "team_id", "user_id", "workload_id", "reservation_id", "gpu_model", "charged_to",
)  # fmt: skip
HELD = F("sign") * F("gpu_milli") * F("seconds")
ESTIMATED = Case(When(estimated=True, then=HELD), default=Value(0))


class Sums(NamedTuple):
    """What one sum is of."""

    hour: datetime
    cluster_id: int
    pool_id: int
    team_id: int | None
    charged_to: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One sum the ledger and the hourly sums do not agree on, in milli-GPU-seconds."""

    hour: datetime
    cluster_id: int
    pool_id: int
    team_id: int | None
    charged_to: str
    ledger: int
    rolled_up: int


def read(cluster_id: int, hours: Collection[datetime]) -> list[HourlyUse]:
    """What the hourly sums of these hours should say, worked out from the ledger."""
    first, last = min(hours), max(hours) + HOUR
    rows = within(first, last).filter(cluster_id=cluster_id)
    sums = (
        rows.order_by()
        .annotate(hour=TruncHour("from_at", tzinfo=UTC))
        .values_list("hour", *KEY)
        .annotate(held=Sum(HELD), estimated_held=Sum(ESTIMATED))
    )
    return [
        HourlyUse(
            cluster_id=cluster_id, hour=hour, gpu_milli_seconds=held,
            estimated_milli_seconds=estimated, **dict(zip(KEY, key, strict=True)),
        )
        for hour, *key, held, estimated in sums.iterator()
        if hour in hours and (held or estimated)
    ]  # fmt: skip


def within(from_at: datetime, to_at: datetime) -> QuerySet[LedgerEntry]:
    """Rows that begin in a period; every pool is named, so that the index of pool and time serves."""
    pools = list(Pool.objects.values_list("pk", flat=True))
    return LedgerEntry.objects.order_by().filter(
        pool_id__in=pools, from_at__gte=from_at, from_at__lt=to_at
    )


def hours_between(from_at: datetime, to_at: datetime) -> Iterator[datetime]:
    """Every hour that touches a half-open period."""
    hour = from_at.replace(minute=0, second=0, microsecond=0)
    while hour < to_at:
        yield hour
        hour += HOUR


def span() -> tuple[datetime, datetime] | None:
    """From the first hour of the ledger or the sums to the end of their last; None if empty."""
    ends = [
        row.from_at
        for order in ("from_at", "-from_at")
        for row in LedgerEntry.objects.order_by(order)[:1]
    ] + [row.hour for order in ("hour", "-hour") for row in HourlyUse.objects.order_by(order)[:1]]
    if not ends:
        return None
    return min(ends).replace(minute=0, second=0, microsecond=0), max(ends) + HOUR


def differences(from_at: datetime, to_at: datetime) -> Iterator[Difference]:
    """Every sum by hour, team, pool and charge that is not the ledger's; stale hours set aside."""
    while from_at < to_at:
        until = min(from_at + DAY, to_at)
        stale = set(
            StaleHour.objects.filter(hour__gte=from_at, hour__lt=until).values_list(
                "hour", "cluster_id"
            )
        )
        ledger = dict(_ledger_sums(from_at, until))
        rolled = dict(_rolled_sums(from_at, until))
        for key in sorted(ledger.keys() | rolled.keys(), key=str):
            if key[:2] not in stale and ledger.get(key, 0) != rolled.get(key, 0):
                yield Difference(*key, ledger=ledger.get(key, 0), rolled_up=rolled.get(key, 0))
        from_at = until


def _ledger_sums(from_at: datetime, to_at: datetime) -> Iterator[tuple[Sums, int]]:
    rows = within(from_at, to_at)
    hours = rows.annotate(hour=TruncHour("from_at", tzinfo=UTC))
    named = hours.values_list("hour", "cluster_id", "pool_id", "team_id", "charged_to")
    for *key, held in named.annotate(held=Sum(HELD)).iterator():
        yield Sums(*key), held


def _rolled_sums(from_at: datetime, to_at: datetime) -> Iterator[tuple[Sums, int]]:
    rows = HourlyUse.objects.order_by().filter(hour__gte=from_at, hour__lt=to_at)
    named = rows.values_list("hour", "cluster_id", "pool_id", "team_id", "charged_to")
    for *key, held in named.annotate(held=Sum("gpu_milli_seconds")).iterator():
        yield Sums(*key), held


def stale_or(condition: Q, stale: Collection[tuple[int, datetime]]) -> Q:
    """A condition on the ledger, or one of these hours of clusters."""
    for cluster_id, hour in stale:
        condition |= Q(cluster_id=cluster_id, from_at__gte=hour, from_at__lt=hour + HOUR)
    return condition
