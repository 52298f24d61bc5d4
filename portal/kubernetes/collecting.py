"""Cluster → rows: nodes to the inventory, jobs to workloads, closed intervals to the ledger."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from portal.common import clock, leases
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, Pool
from portal.kubernetes import raying, reading
from portal.kubernetes.models import ReadMark
from portal.kubernetes.port import ClusterError, ClusterPort, Gone
from portal.kubernetes.ports import port_for
from portal.kubernetes.reading import Read
from portal.kubernetes.reclaiming import naming
from portal.usage import services as usage
from portal.workloads import services as workloads
from portal.workloads.services import Observed


@dataclass(frozen=True, slots=True)
class Collected:
    """What a look at a cluster brought; `error` says why there was none."""

    observed: Observed | None = None
    ledger_rows: int = 0
    error: str = ""


def collect(
    *,
    cluster_id: int,
    now: datetime,
    real_now: datetime | None = None,
    lease: leases.Held | None = None,
) -> Collected:
    """Read a cluster and bring every row in step with it; a repeat changes nothing.

    A cluster that gives no answer keeps its last known rows and is marked with the error. With a
    lease, nothing is written once somebody else has taken it: `leases.Fenced` is raised.
    """
    cluster = Cluster.objects.get(pk=cluster_id)
    mark = ReadMark.objects.filter(cluster_id=cluster_id).first()
    try:
        found = _read(port_for(cluster, now=now), mark.version if mark else "")
    except ClusterError as error:
        return _give_up(cluster_id, str(error), lease)
    return _record(cluster_id, found, now, real_now or clock.real_now(), lease)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at a cluster would bring: devices by pool, nodes of no pool, jobs and pods."""

    pools: dict[str, int]
    unplaced: tuple[str, ...]
    workloads: int
    pods: int


def look(*, cluster_id: int, now: datetime) -> Looked:
    """Read a cluster and count; nothing is written. Raises `ClusterError`."""
    cluster = Cluster.objects.get(pk=cluster_id)
    known = dict(Pool.objects.filter(cluster=cluster).values_list("name", "resource_name"))
    found = _read(port_for(cluster, now=now), "")
    nodes = reading.nodes(found.nodes, known)
    seen = reading.workloads(found, set(known.values()))
    return Looked(
        pools={name: sum(n.gpus for n in nodes if n.pool == name) for name in known},
        unplaced=tuple(node.name for node in nodes if node.pool not in known),
        workloads=len(seen),
        pods=sum(len(workload.pods) for workload in seen),
    )


def _read(port: ClusterPort, since: str) -> Read:
    try:
        return reading.read(port, since=since)
    except Gone:
        # What was deleted meanwhile is lost; it ends where it was last seen.
        return reading.read(port, since="")


def keep_mark(*, cluster_id: int, version: str) -> None:
    """Remember up to which version everything of a cluster stands in the rows."""
    if not ReadMark.objects.filter(cluster_id=cluster_id).update(version=version):
        ReadMark.objects.create(cluster_id=cluster_id, version=version)


@transaction.atomic
def _give_up(cluster_id: int, error: str, lease: leases.Held | None) -> Collected:
    if lease is not None:
        leases.check(lease)
    inventory.mark_failed(cluster_id=cluster_id, error=error)
    return Collected(error=error)


@transaction.atomic
def _record(
    cluster_id: int, found: Read, now: datetime, real_now: datetime, lease: leases.Held | None
) -> Collected:
    if lease is not None:
        leases.check(lease)
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster_id)
    pools = dict(Pool.objects.filter(cluster_id=cluster_id).values_list("name", "resource_name"))
    resources = set(pools.values())
    inventory.record_nodes(cluster_id=cluster_id, seen=reading.nodes(found.nodes, pools), now=now)
    seen = naming.told(reading.workloads(found, resources), cluster_id=cluster_id)
    observed = workloads.observe(cluster_id=cluster_id, seen=seen, now=now)
    ray = raying.groups(found.owners.items, found.pods.items)
    raying.follow(cluster_id=cluster_id, seen=ray, now=now)
    rows = usage.close_cells(cluster_id=cluster_id, now=now)
    keep_mark(cluster_id=cluster_id, version=found.version)
    inventory.mark_read(cluster_id=cluster_id, now=now, real_now=real_now)
    return Collected(observed=observed, ledger_rows=rows)
