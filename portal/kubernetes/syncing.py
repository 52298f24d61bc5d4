"""Rows → cluster: the last tick's shares become quotas, with a row for each field that changed."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from portal.common import leases
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import confirming, diff, targets
from portal.kubernetes.diff import Difference, Drifted, Write
from portal.kubernetes.models import Drift, SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import (
    MANAGER,
    ClusterError,
    ClusterPort,
    FieldConflict,
    TooMany,
    Unreachable,
)
from portal.kubernetes.ports import port_for
from portal.kubernetes.targets import Found
from portal.scheduling.models import Tick, TickState

ORDER = ("PriorityClass", "Node", "Namespace", "ResourceQuota")


@dataclass(slots=True)
class _Outcome:
    """What became of the writes."""

    done: list[Write] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failure: str = ""
    drifts: list[Drifted] = field(default_factory=list)


def sync_cluster(
    *, cluster_id: int, now: datetime, lease: leases.Held | None = None
) -> SyncRun | None:
    """Make a cluster so as its newest tick says. None when there was nothing to write.

    Every write carries the version it was made for and the tick's fence, and loses to a faster
    one; the next sync plans again. A cluster in observe mode is never written. With a lease, no
    further write is begun once somebody else has taken it: `leases.Fenced` is raised.
    """
    begun = time.monotonic()
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = newest_tick(cluster_id)
    if tick is None or cluster.mode == ClusterMode.OBSERVE:
        return None
    outcome = _Outcome()
    try:
        _make_so(cluster, tick, outcome, now, lease)
        return _record(cluster_id, tick, outcome, now, begun, lease)
    except leases.Fenced as fenced:
        # What was written before stands in the cluster, so the rows must tell it all the same.
        if outcome.done:
            outcome.failure = str(fenced)
            _record(cluster_id, tick, outcome, now, begun)
        raise


def _make_so(
    cluster: Cluster, tick: Tick, outcome: _Outcome, now: datetime, lease: leases.Held | None
) -> None:
    try:
        port = port_for(cluster, now=now)
        difference = plan(port, cluster_id=cluster.pk, tick=tick, now=now)
        _write(port, difference, tick.fence, outcome, lease)
    except ClusterError as error:
        # What was written before stands in the rows; the next sync finds the rest to do.
        outcome.failure = str(error)


def newest_tick(cluster_id: int) -> Tick | None:
    """The newest tick that decided something."""
    done = Tick.objects.filter(cluster_id=cluster_id, state=TickState.DONE).defer("snapshot")
    return done.order_by("-at", "-id").first()


def dry_run(*, cluster_id: int, now: datetime) -> Difference:
    """What a sync would write and what it would leave alone. Raises `ClusterError`."""
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = newest_tick(cluster_id)
    if tick is None:
        return Difference()
    return plan(port_for(cluster, now=now), cluster_id=cluster_id, tick=tick, now=now)


def plan(port: ClusterPort, *, cluster_id: int, tick: Tick, now: datetime) -> Difference:
    """Read what is there and compare it with what the tick wants."""
    found = _look(port)
    wanted = targets.wanted(cluster_id=cluster_id, tick=tick, found=found, now=now)
    difference = diff.compare(wanted, found.objects)
    difference.drifts += confirming.not_in_force(found.quotas, difference.writes, tick.fence)
    difference.drifts += confirming.not_guarded(port.policies())
    return difference


def _look(port: ClusterPort) -> Found:
    return Found(port.nodes(), port.namespaces(), port.priority_classes(), port.quotas())


def wanted(
    port: ClusterPort, *, cluster_id: int, tick: Tick | None, now: datetime
) -> list[dict[str, Any]]:
    """Every object a tick wants in the cluster as it is; nothing without a tick."""
    if tick is None:
        return []
    return targets.wanted(cluster_id=cluster_id, tick=tick, found=_look(port), now=now)


def _write(
    port: ClusterPort,
    difference: Difference,
    fence: int,
    outcome: _Outcome,
    lease: leases.Held | None,
) -> None:
    """Apply the writes, what shrinks before what grows; one that is refused stops no other."""
    outcome.drifts += difference.drifts
    for write in sorted(difference.writes, key=lambda w: (ORDER.index(w.kind), w.growth)):
        if lease is not None:
            leases.keep(lease)
        try:
            port.apply(
                write.manifest, manager=MANAGER, fence=fence,
                resource_version=write.resource_version,
            )  # fmt: skip
        except FieldConflict as conflict:
            outcome.drifts += _conflicts(write, conflict)
            outcome.refused.append(_named(write, conflict))
        except (Unreachable, TooMany):
            raise
        except ClusterError as error:
            outcome.refused.append(_named(write, error))
        else:
            outcome.done.append(write)


def _named(write: Write, error: ClusterError) -> str:
    return f"{write.kind} {write.namespace}/{write.name}: {error}"


def _conflicts(write: Write, conflict: FieldConflict) -> list[Drifted]:
    """A field somebody took between our look and our write."""
    return [
        Drifted(write.kind, write.namespace, write.name, name, None, None, manager)
        for name, manager in conflict.owners.items()
    ]


@transaction.atomic
def _record(
    cluster_id: int,
    tick: Tick,
    outcome: _Outcome,
    now: datetime,
    begun: float,
    lease: leases.Held | None = None,
) -> SyncRun | None:
    if lease is not None:
        leases.check(lease)
    if not outcome.failure:
        _follow_drift(cluster_id, outcome.drifts, now)
    if not (outcome.done or outcome.refused or outcome.failure):
        return None
    run = SyncRun.objects.create(
        cluster_id=cluster_id, tick_id=tick.pk, at=now, state=_state(outcome),
        writes=len(outcome.done), took_ms=int((time.monotonic() - begun) * 1000),
        message="\n".join([*outcome.refused, outcome.failure]).strip(),
    )  # fmt: skip
    SyncWrite.objects.bulk_create(_changes(run, outcome.done), batch_size=500)
    return run


def _state(outcome: _Outcome) -> SyncState:
    if outcome.failure:
        return SyncState.FAILED
    return SyncState.PARTIAL if outcome.refused else SyncState.DONE


def _changes(run: SyncRun, writes: Iterable[Write]) -> list[SyncWrite]:
    return [
        SyncWrite(
            run=run, kind=write.kind, namespace=write.namespace, name=write.name,
            field=change.field[:200], was=change.was, now=change.now,
        )
        for write in writes
        for change in write.changes
    ]  # fmt: skip


def _follow_drift(cluster_id: int, drifts: Sequence[Drifted], now: datetime) -> None:
    """Open what is new, renew what is known, close what is as wanted again."""
    standing = {
        (row.kind, row.namespace, row.name, row.field): row
        for row in Drift.objects.filter(cluster_id=cluster_id, closed_at__isnull=True)
    }
    for drift in drifts:
        row = standing.pop((drift.kind, drift.namespace, drift.name, drift.field), None)
        values = {"wanted": drift.wanted, "found": drift.found, "manager": drift.manager[:128]}
        if row is None:
            Drift.objects.create(
                cluster_id=cluster_id, kind=drift.kind, namespace=drift.namespace,
                name=drift.name, field=drift.field[:200], opened_at=now, **values,
            )  # fmt: skip
        elif any(getattr(row, name) != value for name, value in values.items()):
            Drift.objects.filter(pk=row.pk).update(**values)
    Drift.objects.filter(pk__in=[row.pk for row in standing.values()]).update(closed_at=now)
