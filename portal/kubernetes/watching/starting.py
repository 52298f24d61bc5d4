"""How a watcher begins, and whether one is at work."""

import threading

from portal.common import clock
from portal.common.models import Lease
from portal.inventory.models import Cluster

HOLDER = "watch "
"""The lease of whoever reads a cluster is held by somebody of this name while it is watched."""


def watch(*, cluster_id: int, stop: threading.Event) -> None:
    """Keep a cluster's rows in step with it until told to stop."""
    # The library takes 50 MB: only a process that talks to a real cluster loads it.
    from portal.kubernetes import client
    from portal.kubernetes.watching import watcher
    from portal.kubernetes.watching.source import Source

    def open_source() -> Source:
        # The row is read here, once a holding: the streams' threads touch no database.
        way = Cluster.objects.get(pk=cluster_id).settings
        return Source(lambda: client.connect(way))

    watcher.Watcher(cluster_id, open_source, stop).run()


def is_watched(cluster_id: int) -> bool:
    """Whether a watcher keeps the cluster's rows in step now, so that nobody else need look."""
    held = Lease.objects.filter(
        name=f"collect-{cluster_id}", holder__startswith=HOLDER, expires_at__gt=clock.real_now()
    )
    return held.exists()
