"""Hourly sums of the ledger: made, checked against it, and never part of a bill.

Every sum here is the ledger's own, over rows that lie within one hour, since cells never cross one.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.db.models import Case, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncHour

from portal.inventory import selectors as inventory
from portal.usage.models import HourlyUse, LedgerEntry, MeasuredUse, StaleHour

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


_COLUMNS = (*KEY, "gpu_milli_seconds", "estimated_milli_seconds")
_WRITE = """
INSERT INTO {sums} (cluster_id, hour, {columns}, measured_milli_seconds, used_milli_seconds)
WITH held AS ({ledger}), beside AS (
  SELECT held.*, COALESCE(m.measured_milli_seconds, 0) AS measured,
    COALESCE(m.used_milli_seconds, 0) AS used,
    SUM(gpu_milli_seconds) OVER (PARTITION BY held.workload_id, held.hour) AS whole,
    ROW_NUMBER() OVER (PARTITION BY held.workload_id, held.hour
      ORDER BY gpu_milli_seconds DESC, held.pool_id, held.team_id, held.charged_to) AS place
  FROM held LEFT JOIN {measured} AS m
    ON m.workload_id = held.workload_id AND m.hour = held.hour AND m.hour >= %s AND m.hour < %s
  WHERE gpu_milli_seconds <> 0 OR estimated_milli_seconds <> 0
), parts AS (
  SELECT beside.*,
    CASE WHEN place = 1 OR whole = 0 THEN 0
      ELSE FLOOR(CAST(measured AS numeric) * gpu_milli_seconds / whole) END AS measured_part,
    CASE WHEN place = 1 OR whole = 0 THEN 0
      ELSE FLOOR(CAST(used AS numeric) * gpu_milli_seconds / whole) END AS used_part
  FROM beside
)
SELECT %s, hour, {columns},
  CASE WHEN place > 1 THEN measured_part
    ELSE measured - SUM(measured_part) OVER (PARTITION BY workload_id, hour) END,
  CASE WHEN place > 1 THEN used_part
    ELSE used - SUM(used_part) OVER (PARTITION BY workload_id, hour) END
FROM parts
"""


def write(cluster_id: int, hours: Collection[datetime]) -> None:
    """Write the sums of these hours, of which there are none, from the ledger.

    The database does it by itself, without a row coming over. What was measured of a workload in
    an hour is split between all it was charged to in it as its held time was, to the last
    milli-second; the largest takes the rest.
    """
    first, last = min(hours), max(hours) + HOUR
    ledger = (
        within(first, last)
        .filter(cluster_id=cluster_id)
        .annotate(hour=TruncHour("from_at", tzinfo=UTC))
        .filter(hour__in=sorted(hours))
        .values("hour", *KEY)
        .annotate(gpu_milli_seconds=Sum(HELD), estimated_milli_seconds=Sum(ESTIMATED))
    )
    inner, given = ledger.query.sql_with_params()
    statement = _WRITE.format(
        sums=HourlyUse._meta.db_table, measured=MeasuredUse._meta.db_table,
        columns=", ".join(_COLUMNS), ledger=inner,
    )  # fmt: skip
    written = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Compiling so short a statement anew each time takes longer than running it.
            cursor.execute("SET LOCAL jit = off")
        cursor.execute(statement, [*given, written(first), written(last), cluster_id])


def within(from_at: datetime, to_at: datetime) -> QuerySet[LedgerEntry]:
    """Rows that begin in a period; every pool is named, so that the index of pool and time serves."""
    pools = list(inventory.pool_names())
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
