"""The room's periodic work: how busy GPUs were, from the monitoring of each cluster."""

from celery import shared_task
from django.conf import settings

from portal.common import clock, leases
from portal.usage import monitoring


@shared_task(name="usage.measure")
def measure(**_: object) -> None:
    """Ask for a reading of every cluster that is measured."""
    for cluster_id in monitoring.due():
        measure_cluster.apply_async(
            kwargs={"cluster_id": cluster_id}, expires=settings.CHORE_SECONDS
        )


@shared_task(name="usage.measure_cluster")
def measure_cluster(*, cluster_id: int, **_: object) -> None:
    """Read what is due of one cluster, unless somebody else does so now."""
    with leases.holding(name=f"measure-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
        if lease is not None:
            monitoring.read_due(cluster_id=cluster_id, now=clock.now())
