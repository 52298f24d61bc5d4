"""Rows → cluster: the last tick's shares become quotas, with a row for each field that changed."""

import time
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from portal.common import clock, formats, leases
from portal.inventory.models import Cluster, ClusterKind, ClusterMode
from portal.kubernetes import applying, confirming, diff, policies, runs, standing, targets
from portal.kubernetes.applying import Outcome
from portal.kubernetes.diff import Difference
from portal.kubernetes.models import SyncRun, SyncState
from portal.kubernetes.port import ClusterError, ClusterPort, Manifest, NotFound, Refused
from portal.kubernetes.ports import port_for
from portal.kubernetes.targets import Found
from portal.scheduling.models import Tick, TickState


def sync_cluster(
    *, cluster_id: int, now: datetime, lease: leases.Held | None = None
) -> SyncRun | None:
    """Make a cluster so as its newest tick says. None when there was nothing to write.

    Every write carries the version it was made for and the tick's fence, and loses to a faster
    one; the next sync plans again. A cluster in observe mode, or whose sync is paused, is never
    written, and none is by a decision older than what may be decided on: that run is FAILED. With a lease, no further write is begun once somebody else has taken it:
    `leases.Fenced` is raised.
    """
    begun = time.monotonic()
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = newest_tick(cluster_id)
    observes = cluster.mode == ClusterMode.OBSERVE
    if tick is None or (observes and not runs.are_open(cluster_id=cluster_id)):
        return None
    try:
        port = port_for(cluster, now=now)
        found = look(port)
        # 1. What a worker began that did not live to tell.
        if runs.are_open(cluster_id=cluster_id):
            runs.close_interrupted(cluster_id=cluster_id, found=found.objects, lease=lease)
        late = "" if observes else too_old(cluster, tick)
        if late:
            raise ClusterError(late)
        # 2. What to write now.
        difference = Difference() if observes else _compare(port, found, cluster_id, tick, now)
        if standing.is_paused(cluster_id=cluster_id):
            difference.writes.clear()
    except ClusterError as error:
        return runs.fail(
            cluster_id=cluster_id, tick_id=tick.pk, message=str(error), now=now,
            took_ms=_ms(begun), lease=lease,
        )  # fmt: skip
    # 3. Write it.
    run = _make_so(cluster, port, difference, tick, now, begun, lease)
    if run is None or run.state != SyncState.FAILED:
        standing.mark_checked(cluster_id=cluster_id, now=now, real_now=clock.real_now())
    return run


def _make_so(
    cluster: Cluster,
    port: ClusterPort,
    difference: Difference,
    tick: Tick,
    now: datetime,
    begun: float,
    lease: leases.Held | None,
) -> SyncRun | None:
    """Say what is meant, write it, say what became of it."""
    if not difference.writes:
        runs.follow_drift(cluster_id=cluster.pk, drifts=difference.drifts, now=now, lease=lease)
        return None
    run = runs.begin(
        cluster_id=cluster.pk, tick_id=tick.pk, writes=difference.writes, now=now, lease=lease
    )
    outcome = Outcome(drifts=difference.drifts)
    # A file has one writer at a time; a server answers several.
    writers = settings.SYNC_WRITERS if cluster.kind == ClusterKind.KUBERNETES else 1
    check = partial(leases.keep, lease) if lease is not None else _nothing
    try:
        applying.apply(
            port, difference.writes, outcome, fence=tick.fence, writers=writers, check=check
        )
        return runs.end(run, outcome, now=now, took_ms=_ms(begun), lease=lease)
    except leases.Fenced as fenced:
        # What was written before stands in the cluster, so the rows must tell it all the same.
        outcome.failure = str(fenced)
        runs.end(run, outcome, now=now, took_ms=_ms(begun), lease=None)
        raise


def _nothing() -> None:
    """Nobody to ask."""


def _ms(begun: float) -> int:
    return int((time.monotonic() - begun) * 1000)


def newest_tick(cluster_id: int) -> Tick | None:
    """The newest tick that decided something."""
    done = Tick.objects.filter(cluster_id=cluster_id, state=TickState.DONE).defer("snapshot")
    return done.order_by("-at", "-id").first()


def too_old(cluster: Cluster, tick: Tick) -> str:
    """Why a cluster may not be written by this tick any more; empty while it may."""
    age = clock.real_now() - tick.started_real_at
    if age <= timedelta(seconds=cluster.stale_after_seconds):
        return ""
    return _(
        "The newest decision is %(age)s old, more than the %(limit)s allowed, so nothing is written."
    ) % {
        "age": formats.duration(age),
        "limit": formats.duration(timedelta(seconds=cluster.stale_after_seconds)),
    }


def dry_run(*, cluster_id: int, now: datetime) -> Difference:
    """What a sync would write and what it would leave alone. Raises `ClusterError`."""
    cluster = Cluster.objects.get(pk=cluster_id)
    tick = newest_tick(cluster_id)
    if tick is None:
        return Difference()
    return plan(port_for(cluster, now=now), cluster_id=cluster_id, tick=tick, now=now)


def plan(port: ClusterPort, *, cluster_id: int, tick: Tick, now: datetime) -> Difference:
    """Read what is there and compare it with what the tick wants."""
    return _compare(port, look(port), cluster_id, tick, now)


def _compare(
    port: ClusterPort, found: Found, cluster_id: int, tick: Tick, now: datetime
) -> Difference:
    wanted = targets.wanted(cluster_id=cluster_id, tick=tick, found=found, now=now)
    difference = diff.compare(wanted, found.objects)
    difference.drifts += confirming.not_in_force(found.quotas, difference.writes, tick.fence)
    difference.drifts += confirming.without_effect(found.quotas)
    mode = Cluster.objects.values_list("mode", flat=True).get(pk=cluster_id)
    difference.drifts += confirming.not_guarded(port.policies(), mode)
    return difference


def look(port: ClusterPort) -> Found:
    """Read all that a sync compares with."""
    return Found(
        port.nodes(), port.namespaces(), port.priority_classes(), port.quotas(),
        port.device_classes(), _limits(port),
    )  # fmt: skip


def _limits(port: ClusterPort) -> Manifest:
    """What the admission policies read; nothing where they are not installed."""
    try:
        return port.get("ConfigMap", policies.NAMESPACE, policies.LIMITS)
    except (NotFound, Refused):
        return {}


def wanted(
    port: ClusterPort, *, cluster_id: int, tick: Tick | None, now: datetime
) -> list[dict[str, Any]]:
    """Every object a tick wants in the cluster as it is; nothing without a tick."""
    if tick is None:
        return []
    return targets.wanted(cluster_id=cluster_id, tick=tick, found=look(port), now=now)
