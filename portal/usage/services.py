"""Writes of the room: closed intervals into the ledger, and corrections as further rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.inventory.models import Cluster
from portal.usage import appending, intervals, rollups
from portal.usage.appending import SECOND, Row
from portal.usage.cells import floor
from portal.usage.intervals import Holding
from portal.usage.models import HourlyUse, LedgerEntry, MeasuredUse, StaleHour
from portal.workloads.models import Pod, Workload

BATCH = 500


@transaction.atomic
def close_cells(*, cluster_id: int, now: datetime) -> int:
    """Append what every pod held up to `now`, cut at the grid; a second call adds nothing.

    An open interval is closed up to the last grid line at which the pod was surely still seen, a
    closed one up to its end. A pod that turns out to have ended earlier than the ledger says is
    corrected. Returns how many rows were appended.
    """
    return _close(intervals.unsettled(cluster_id), now)


@transaction.atomic
def close_some(*, cluster_id: int, now: datetime, at_most: int) -> bool:
    """The same of some of the pods for which there is something to append; whether there are more."""
    due = intervals.due(cluster_id, floor(now), at_most)
    _close(due, now)
    return len(due) == at_most


def _close(holdings: Iterable[Holding], now: datetime) -> int:
    rows: list[Row] = []
    until_of: dict[datetime, list[int]] = {}
    late: list[Holding] = []
    for holding in holdings:
        closed, known = holding.closed_at, holding.ledger_until
        if closed is not None and known is not None and closed < known:
            late.append(holding)
            continue
        until = closed or floor(min(now, holding.seen_at))
        if until > holding.begins:
            rows += holding.rows(until)
        until_of.setdefault(max(until, holding.begins), []).append(holding.pod_id)
    appended = appending.append(rows)
    for until, pks in until_of.items():
        _settle(pks, until)
    return appended + sum(_cut_back(holding) for holding in late)


def _settle(pks: Sequence[int], until: datetime) -> None:
    for begin in range(0, len(pks), BATCH):
        batch = pks[begin : begin + BATCH]
        Pod.objects.filter(pk__in=batch).update(ledger_until=until)


@transaction.atomic
def charge(*, charges: Mapping[int, str], now: datetime) -> int:
    """Let pods be charged to something else from `now` on; pod id → charged_to.

    What they held until then goes into the ledger under the charge it had: up to `now`, or to
    where they were last seen if that is earlier. Returns how many pods changed.
    """
    before = dict(Pod.objects.filter(pk__in=charges).values_list("pk", "charged_to"))
    changed = [pk for pk, was in before.items() if was != charges[pk]]
    rows: list[Row] = []
    until_of: dict[datetime, list[int]] = {}
    for holding in intervals.of_pods(changed):
        known = holding.closed_at or min(now, holding.seen_at)
        until = max(known.replace(microsecond=0), holding.begins)
        rows += holding.rows(until)
        until_of.setdefault(until, []).append(holding.pod_id)
    appending.append(rows)
    for until, pks in until_of.items():
        _settle(pks, until)
    for kind in sorted({charges[pk] for pk in changed}):
        Pod.objects.filter(pk__in=[pk for pk in changed if charges[pk] == kind]).update(
            charged_to=kind
        )
    return len(changed)


@transaction.atomic
def correct(*, cluster_id: int, pod_uid: str, seen: Iterable[Row]) -> int:
    """Put another sight of a pod into the ledger: what differs is negated and written anew.

    `seen` are the rows as they should stand, each within one grid cell; their revision and sign
    do not count. Rows that stand and are not among them are negated. Returns how many rows were
    appended.
    """
    standing = {row.from_at: row for row in _standing(cluster_id, pod_uid)}
    wanted = {row.from_at: row._replace(revision=0, sign=1) for row in seen}
    newest = dict(
        LedgerEntry.objects.filter(cluster_id=cluster_id, pod_uid=pod_uid)
        .values("from_at")
        .annotate(newest=Max("revision"))
        .values_list("from_at", "newest")
    )
    rows: list[Row] = []
    for from_at in sorted(standing.keys() | wanted.keys()):
        was, then = standing.get(from_at), wanted.get(from_at)
        if was is not None and then is not None and was._replace(revision=0) == then:
            continue
        next_revision = newest.get(from_at, -1) + 1
        if was is not None:
            rows.append(was._replace(revision=next_revision, sign=-1))
            next_revision += 1
        if then is not None:
            rows.append(then._replace(revision=next_revision))
    return appending.append(rows)


def roll_up() -> int:
    """Sum anew every hour the ledger has grown in. Returns how many; a day is a commit of its own.

    One that another process sums at the same time is theirs.
    """
    days: dict[tuple[int, date], list[datetime]] = {}
    for cluster_id, hour in StaleHour.objects.values_list("cluster_id", "hour"):
        days.setdefault((cluster_id, hour.date()), []).append(hour)
    return sum(_sum_anew(cluster_id, hours) for (cluster_id, _day), hours in days.items())


def rebuild_rollups(*, from_at: datetime | None = None, to_at: datetime | None = None) -> int:
    """Make the hourly sums of a period anew from the ledger, by default all; returns how many hours.

    A day and cluster at a time, so that it may run while clusters are collected.
    """
    span = rollups.span()
    if span is None:
        return 0
    first, last = from_at or span[0], to_at or span[1]
    clusters = list(Cluster.objects.values_list("pk", flat=True))
    done = 0
    while first < last:
        until = min(first + rollups.DAY, last)
        hours = list(rollups.hours_between(first, until))
        for cluster_id in clusters:
            appending.mark_stale((cluster_id, hour) for hour in hours)
            done += _sum_anew(cluster_id, hours)
        first = until
    return done


@transaction.atomic
def _sum_anew(cluster_id: int, hours: Sequence[datetime]) -> int:
    """Replace the sums of stale hours; the marks are locked first and go with them."""
    marks = StaleHour.objects.select_for_update(no_key=True)
    stale = list(marks.filter(cluster_id=cluster_id, hour__in=hours).order_by("hour"))
    if not stale:
        return 0
    found = {mark.hour for mark in stale}
    HourlyUse.objects.filter(cluster_id=cluster_id, hour__in=found).delete()
    rollups.write(cluster_id, found)
    StaleHour.objects.filter(pk__in=[mark.pk for mark in stale]).delete()
    return len(found)


@dataclass(frozen=True, slots=True)
class Measurement:
    """How busy a workload's devices were in an hour; used is part of what was measured."""

    workload_id: int
    hour: datetime
    measured_milli_seconds: int
    used_milli_seconds: int


@transaction.atomic
def note_measured(*, measurements: Iterable[Measurement], source: str, now: datetime) -> int:
    """Keep what monitoring measured; the newest sight of an hour stands. Returns how many.

    The hours are marked stale, so that their sums are made anew with it.

    Raises `Invalid` for a measurement of a workload nobody knows, one that is no whole hour of
    UTC, and one that used more than was measured.
    """
    given = {(one.workload_id, one.hour): one for one in measurements}
    clusters = dict(
        Workload.objects.filter(pk__in={pk for pk, _hour in given}).values_list("pk", "cluster_id")
    )
    for one in given.values():
        _check_measurement(one, known=one.workload_id in clusters)
    MeasuredUse.objects.bulk_create(
        [
            MeasuredUse(
                cluster_id=clusters[one.workload_id], workload_id=one.workload_id, hour=one.hour,
                measured_milli_seconds=one.measured_milli_seconds,
                used_milli_seconds=one.used_milli_seconds, source=source[:40], noted_at=now,
            )
            for one in given.values()
        ],
        update_conflicts=True,
        unique_fields=["workload_id", "hour"],
        update_fields=["measured_milli_seconds", "used_milli_seconds", "source", "noted_at"],
        batch_size=BATCH,
    )  # fmt: skip
    appending.mark_stale({(clusters[one.workload_id], one.hour) for one in given.values()})
    return len(given)


def _check_measurement(one: Measurement, *, known: bool) -> None:
    if not known:
        raise Invalid(
            _("There is no workload %(id)d.") % {"id": one.workload_id}, code="unknown_workload"
        )
    if one.hour != appending.hour_of(one.hour.astimezone(UTC)):
        raise Invalid(_("Name an hour by its beginning in UTC."), code="no_hour")
    if not 0 <= one.used_milli_seconds <= one.measured_milli_seconds:
        raise Invalid(_("No more can be used than was measured."), code="more_than_measured")


def _standing(cluster_id: int, pod_uid: str) -> list[Row]:
    """The rows of a pod that count: the newest of each start, unless it was negated."""
    newest: dict[datetime, LedgerEntry] = {}
    of_pod = LedgerEntry.objects.filter(cluster_id=cluster_id, pod_uid=pod_uid)
    for entry in of_pod.order_by("revision"):
        newest[entry.from_at] = entry
    return [_as_row(entry) for entry in newest.values() if entry.sign == 1]


def _as_row(entry: LedgerEntry) -> Row:
    return Row(**{name: getattr(entry, name) for name in Row._fields})


def _cut_back(holding: Holding) -> int:
    """The ledger has more of a pod than it turned out to hold: keep what is before its end."""
    closed_at = holding.closed_at
    assert closed_at is not None
    kept = [
        row if row.to_at <= closed_at else _shortened(row, closed_at)
        for row in _standing(holding.row.cluster_id, holding.row.pod_uid)
        if row.from_at < closed_at
    ]
    appended = correct(cluster_id=holding.row.cluster_id, pod_uid=holding.row.pod_uid, seen=kept)
    _settle([holding.pod_id], closed_at)
    return appended


def _shortened(row: Row, until: datetime) -> Row:
    return row._replace(to_at=until, seconds=(until - row.from_at) // SECOND)
