"""Writes rows into the ledger, many at a time; a row that is there already stays as it is.

One prepared INSERT is several times quicker than model instances, and this is the busiest table.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from portal.usage.models import LedgerEntry, StaleHour

SECOND = timedelta(seconds=1)


class Row(NamedTuple):
    """One row of the ledger, columns in the order of the insert."""

    cluster_id: int
    pod_uid: str
    from_at: datetime
    to_at: datetime
    revision: int
    sign: int
    workload_id: int
    reservation_id: int | None
    team_id: int | None
    user_id: int | None
    pool_id: int
    node_id: int
    gpu_model: str
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    charged_to: str
    seconds: int
    source: str
    estimated: bool


KEY = ("cluster_id", "pod_uid", "from_at", "revision")


def append(rows: Iterable[Row]) -> int:
    """Insert rows; one of the same cluster, pod, start and revision stands. Returns how many.

    Their hours are marked stale, so that they are summed anew.
    """
    rows = list(rows)
    if not rows:
        return 0
    written = _Times()
    adapted = [
        (row.cluster_id, row.pod_uid, written[row.from_at], written[row.to_at], *row[4:])
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_statement(), adapted)
        appended = max(0, int(cursor.rowcount))
    if appended:
        mark_stale({(row.cluster_id, hour_of(row.from_at)) for row in rows})
    return appended


def hour_of(instant: datetime) -> datetime:
    """The hour of UTC an instant lies in."""
    return instant.replace(minute=0, second=0, microsecond=0)


def mark_stale(hours: Iterable[tuple[int, datetime]]) -> None:
    """Say that the sums of these hours of clusters have to be made anew."""
    written = _Times()
    quote = connection.ops.quote_name
    table = quote(StaleHour._meta.db_table)
    statement = (
        f"INSERT INTO {table} (cluster_id, hour, changes) VALUES (%s, %s, 1) "  # noqa: S608 -- names of ours alone
        f"ON CONFLICT (cluster_id, hour) DO UPDATE SET changes = {table}.changes + 1"
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement, [(pk, written[hour]) for pk, hour in sorted(hours)])


class _Times(dict[datetime, Any]):
    """Instants as the database writes them; the same few come in many rows."""

    def __missing__(self, instant: datetime) -> Any:
        self[instant] = written = connection.ops.adapt_datetimefield_value(instant)
        return written


def _statement() -> str:
    """The insert; every name in it is one of the model's own."""
    quote = connection.ops.quote_name
    table = quote(LedgerEntry._meta.db_table)
    columns = ", ".join(map(quote, Row._fields))
    marks = ", ".join(["%s"] * len(Row._fields))
    key = ", ".join(map(quote, KEY))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({key}) DO NOTHING"  # noqa: S608 -- names of ours alone
