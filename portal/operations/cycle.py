"""One turn of one cluster: see, decide, write. The live loop and the demo's history share it."""

import logging
from datetime import datetime

from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.scheduling import services as scheduling

log = logging.getLogger(__name__)


def turn(*, cluster_id: int, now: datetime) -> str:
    """Run collect, tick and sync of one cluster, in this order; returns why it was not reached.

    A cluster that does not answer is still decided on until its state is too old, but not written.
    """
    seen = kubernetes.collect(cluster_id=cluster_id, now=now)  # 1. what is there
    scheduling.run_tick(cluster_id=cluster_id, now=now)  # 2. what should be
    if not seen.error:
        kubernetes.sync_cluster(cluster_id=cluster_id, now=now)  # 3. make it so
    return seen.error


def turn_all(*, now: datetime) -> int:
    """Turn every cluster; one that fails is logged and the others go on. Returns the failures."""
    failures = 0
    for cluster in Cluster.objects.all():
        try:
            failures += bool(turn(cluster_id=cluster.pk, now=now))
        except Exception:
            log.exception("cluster %s could not be served", cluster.name)
            failures += 1
    return failures
