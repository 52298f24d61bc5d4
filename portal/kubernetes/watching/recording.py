"""What a watcher knows → rows: the families that changed, the machines, and that all is in step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from portal.common import leases
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, Pool
from portal.kubernetes import collecting, raying, reading
from portal.kubernetes.port import Listing, Manifest
from portal.kubernetes.reach import Room
from portal.kubernetes.reclaiming import naming
from portal.kubernetes.watching.store import Families
from portal.usage import services as usage
from portal.workloads import services as workloads
from portal.workloads.services import Observed


@dataclass(frozen=True, slots=True)
class Place:
    """Whose rows are written, and the lease that says they are ours to write."""

    cluster_id: int
    lease: leases.Held


@transaction.atomic
def machines(place: Place, found: Sequence[Manifest], now: datetime) -> None:
    """Bring the nodes' rows in step with all the machines there are."""
    pools = _hold(place)
    listing = Listing(tuple(found), "")
    inventory.record_nodes(cluster_id=place.cluster_id, seen=reading.nodes(listing, pools), now=now)


@transaction.atomic
def families(place: Place, found: Families, room: Room, now: datetime) -> Observed:
    """Bring the rows of some families in step; all others stay as they are."""
    resources = set(_hold(place).values())
    looked = reading.workloads(found.read, resources, room)
    seen = naming.told(looked, cluster_id=place.cluster_id)
    raying.follow(
        cluster_id=place.cluster_id, now=now, of_uids=found.uids,
        seen=raying.groups(found.read.owners.items, found.read.pods.items),
    )  # fmt: skip
    return workloads.observe(cluster_id=place.cluster_id, seen=seen, scope=found.uids, now=now)


@transaction.atomic
def in_step(place: Place, version: str, now: datetime, real_now: datetime) -> None:
    """Say that all rows are in step, and from which version on the next watcher must ask."""
    _hold(place)
    if version:
        collecting.keep_mark(cluster_id=place.cluster_id, version=version)
    inventory.mark_read(cluster_id=place.cluster_id, now=now, real_now=real_now)


@transaction.atomic
def ledger(place: Place, now: datetime, at_most: int) -> bool:
    """Append to the ledger what some pods held up to now; whether there are more."""
    _hold(place)
    return usage.close_some(cluster_id=place.cluster_id, now=now, at_most=at_most)


@transaction.atomic
def out_of_sight(place: Place, error: str) -> None:
    """Say why the cluster cannot be watched; its last known rows stay."""
    leases.check(place.lease)
    inventory.mark_failed(cluster_id=place.cluster_id, error=error)


def _hold(place: Place) -> Mapping[str, str]:
    """Raise `Fenced` unless the rows are ours; the pools by name, with their resource."""
    leases.check(place.lease)
    Cluster.objects.select_for_update(no_key=True).get(pk=place.cluster_id)
    pools = Pool.objects.filter(cluster_id=place.cluster_id)
    return dict(pools.values_list("name", "resource_name"))
