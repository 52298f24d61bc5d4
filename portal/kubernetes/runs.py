"""The rows of a sync: what it means to write, what it wrote, and what an interrupted one had written.

A run stands with all it intends before its first write, so that a worker that dies between a write
and its record leaves something to ask about. The next sync asks the cluster: an apply is whole or
not at all, so an object whose every field is as intended was written.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import leases
from portal.kubernetes import diff
from portal.kubernetes.applying import Outcome
from portal.kubernetes.diff import Drifted, Write
from portal.kubernetes.models import Drift, SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import Manifest

BATCH = 500
KEPT = timedelta(days=400)
"""How long a sync and its changes are kept, as long as the ticks they follow."""
FIELD = 200
"""How much of a field's name is kept."""


@transaction.atomic
def begin(
    *,
    cluster_id: int,
    tick_id: int,
    writes: Sequence[Write],
    now: datetime,
    lease: leases.Held | None,
) -> SyncRun:
    """Write down what a sync intends. Raises `leases.Fenced`."""
    if lease is not None:
        leases.check(lease)
    run = SyncRun.objects.create(
        cluster_id=cluster_id, tick_id=tick_id, at=now, state=SyncState.RUNNING,
        intended=len(writes),
    )  # fmt: skip
    _write_down(run, writes)
    return run


@transaction.atomic
def end(
    run: SyncRun, outcome: Outcome, *, now: datetime, took_ms: int, lease: leases.Held | None
) -> SyncRun:
    """Write down what became of it. Raises `leases.Fenced`.

    Without a lease the caller was fenced, and another may have closed the run by what it saw then:
    whoever wrote knows better.
    """
    if lease is not None:
        leases.check(lease)
    row = SyncRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if row.state != SyncState.RUNNING or len(outcome.done) < row.intended:
        row.changes.all().delete()
        _write_down(row, outcome.done)
    row.state, row.writes, row.took_ms = _state(outcome), len(outcome.done), took_ms
    row.message = "\n".join([*outcome.refused, outcome.failure]).strip()
    row.save()
    if not outcome.failure:
        _follow(row.cluster_id, outcome.drifts, now)
    _forget(now - KEPT)
    return row


def _forget(before: datetime) -> None:
    """Let go of the oldest syncs past their time; each new one makes room for itself so."""
    oldest = SyncRun.objects.order_by("id").values_list("pk", "at")[:BATCH]
    SyncRun.objects.filter(pk__in=[pk for pk, at in oldest if at < before]).delete()


@transaction.atomic
def fail(
    *,
    cluster_id: int,
    tick_id: int,
    message: str,
    now: datetime,
    took_ms: int,
    lease: leases.Held | None,
) -> SyncRun:
    """Write down that a cluster could not be read. Raises `leases.Fenced`."""
    if lease is not None:
        leases.check(lease)
    return SyncRun.objects.create(
        cluster_id=cluster_id, tick_id=tick_id, at=now, state=SyncState.FAILED, took_ms=took_ms,
        message=message,
    )  # fmt: skip


def _state(outcome: Outcome) -> SyncState:
    if outcome.failure:
        return SyncState.FAILED
    return SyncState.PARTIAL if outcome.refused else SyncState.DONE


def _write_down(run: SyncRun, writes: Iterable[Write]) -> None:
    rows = [
        SyncWrite(
            run=run, kind=write.kind, namespace=write.namespace, name=write.name,
            field=change.field[:FIELD], was=change.was, now=change.now,
        )
        for write in writes
        for change in write.changes
    ]  # fmt: skip
    SyncWrite.objects.bulk_create(rows, batch_size=BATCH)


def are_open(*, cluster_id: int) -> bool:
    """Whether a run was begun and not ended; with the lease in hand, its worker is gone."""
    return SyncRun.objects.filter(cluster_id=cluster_id, state=SyncState.RUNNING).exists()


@transaction.atomic
def close_interrupted(
    *, cluster_id: int, found: Iterable[Manifest], lease: leases.Held | None
) -> None:
    """End every open run with what of it is seen in the cluster. Raises `leases.Fenced`."""
    if lease is not None:
        leases.check(lease)
    there = {diff.identity(item): item for item in found}
    for run in SyncRun.objects.filter(cluster_id=cluster_id, state=SyncState.RUNNING):
        objects: dict[tuple[str, str, str], list[SyncWrite]] = defaultdict(list)
        for row in run.changes.all():
            objects[row.kind, row.namespace, row.name].append(row)
        seen = {key for key, rows in objects.items() if _is_written(rows, there.get(key))}
        lost = [row.pk for key, rows in objects.items() if key not in seen for row in rows]
        for pks in _batches(lost):
            SyncWrite.objects.filter(pk__in=pks).delete()
        run.state, run.writes = SyncState.INTERRUPTED, len(seen)
        run.message = _(
            "The worker ended in the middle of it. Of %(intended)s objects it meant to write, "
            "%(seen)s are found written."
        ) % {"intended": run.intended, "seen": run.writes}
        run.save()


def _is_written(rows: Iterable[SyncWrite], item: Manifest | None) -> bool:
    """Whether every field is as intended; of an object that was to go, whether it is gone."""
    if item is None:
        return all(row.now is None for row in rows)
    is_now = {name[:FIELD]: value for name, value in diff.fields(item).items()}
    is_now["metadata.name"] = item["metadata"]["name"]
    return all(is_now.get(row.field) == row.now for row in rows)


@transaction.atomic
def follow_drift(
    *, cluster_id: int, drifts: Sequence[Drifted], now: datetime, lease: leases.Held | None
) -> None:
    """Write down where a cluster differs. Raises `leases.Fenced`."""
    if lease is not None:
        leases.check(lease)
    _follow(cluster_id, drifts, now)


def _follow(cluster_id: int, drifts: Sequence[Drifted], now: datetime) -> None:
    """Open what is new, renew what is known, close what is as wanted again."""
    standing = {
        (row.kind, row.namespace, row.name, row.field): row
        for row in Drift.objects.filter(cluster_id=cluster_id, closed_at__isnull=True)
    }
    fresh: list[Drift] = []
    for drift in drifts:
        name = drift.field[:FIELD]
        row = standing.pop((drift.kind, drift.namespace, drift.name, name), None)
        values = {"wanted": drift.wanted, "found": drift.found, "manager": drift.manager[:128]}
        if row is None:
            fresh.append(
                Drift(
                    cluster_id=cluster_id, kind=drift.kind, namespace=drift.namespace,
                    name=drift.name, field=name, opened_at=now, **values,
                )
            )  # fmt: skip
        elif any(getattr(row, name) != value for name, value in values.items()):
            Drift.objects.filter(pk=row.pk).update(**values)
    Drift.objects.bulk_create(fresh, batch_size=BATCH)
    for pks in _batches([row.pk for row in standing.values()]):
        Drift.objects.filter(pk__in=pks).update(closed_at=now)


def _batches(pks: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(pks), BATCH):
        yield pks[first : first + BATCH]
