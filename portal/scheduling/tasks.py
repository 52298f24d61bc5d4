"""The room's periodic work: ticks and forecasts of every cluster, each under its lease."""

from celery import shared_task
from django.conf import settings

from portal.common import clock, leases
from portal.inventory.models import Cluster
from portal.scheduling import services


@shared_task(name="scheduling.tick")
def tick(**_: object) -> None:
    """Ask for a tick of every cluster."""
    for cluster_id in Cluster.objects.values_list("id", flat=True):
        tick_cluster.apply_async(kwargs={"cluster_id": cluster_id}, expires=settings.TICK_SECONDS)


@shared_task(name="scheduling.tick_cluster")
def tick_cluster(*, cluster_id: int, **_: object) -> None:
    """Run one tick, unless somebody else runs one of this cluster now."""
    with leases.holding(name=f"tick-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
        if lease is not None:
            services.run_tick(cluster_id=cluster_id, now=clock.now(), lease=lease)


@shared_task(name="scheduling.forecast")
def forecast(**_: object) -> None:
    """Say of all that waits when it will start, cluster by cluster."""
    for cluster_id in Cluster.objects.values_list("id", flat=True):
        with leases.holding(name=f"forecast-{cluster_id}", seconds=settings.LEASE_SECONDS) as lease:
            if lease is not None:
                services.make_forecasts(cluster_id=cluster_id, now=clock.now())
