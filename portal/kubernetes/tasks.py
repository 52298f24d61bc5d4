"""The room's periodic work: look at every cluster, and write to every cluster, each under a lease."""

from celery import shared_task
from django.conf import settings

from portal.common import clock, leases
from portal.inventory.models import Cluster
from portal.kubernetes import services


@shared_task(name="kubernetes.collect")
def collect(**_: object) -> None:
    """Ask for a look at every cluster."""
    for cluster_id in Cluster.objects.values_list("id", flat=True):
        collect_cluster.apply_async(
            kwargs={"cluster_id": cluster_id}, expires=settings.TICK_SECONDS
        )


@shared_task(name="kubernetes.collect_cluster")
def collect_cluster(*, cluster_id: int, **_: object) -> None:
    """Bring the rows of one cluster in step with it, unless somebody else does so now."""
    with leases.holding(name=f"collect-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
        if lease is not None:
            services.collect(cluster_id=cluster_id, now=clock.now(), lease=lease)


@shared_task(name="kubernetes.sync")
def sync(**_: object) -> None:
    """Ask for a sync of every cluster."""
    for cluster_id in Cluster.objects.values_list("id", flat=True):
        sync_cluster.apply_async(kwargs={"cluster_id": cluster_id}, expires=settings.TICK_SECONDS)


@shared_task(name="kubernetes.sync_cluster")
def sync_cluster(*, cluster_id: int, **_: object) -> None:
    """Make one cluster as its last tick says, unless somebody else writes to it now."""
    with leases.holding(name=f"sync-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
        if lease is not None:
            services.sync_cluster(cluster_id=cluster_id, now=clock.now(), lease=lease)
            services.carry_out(cluster_id=cluster_id, now=clock.now(), lease=lease)
