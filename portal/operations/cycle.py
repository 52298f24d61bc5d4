"""One turn of one cluster: see, decide, write, as the periodic tasks do it, at any instant.

For the demo's history and for tests that walk the straight path; live, each step is a task.
"""

from datetime import datetime

from portal.kubernetes import services as kubernetes
from portal.scheduling import services as scheduling


def turn(*, cluster_id: int, now: datetime) -> str:
    """Run collect, tick and sync of one cluster, in this order; returns why it was not reached.

    A cluster that does not answer is still decided on until its state is too old, but not written.
    """
    seen = kubernetes.collect(cluster_id=cluster_id, now=now)  # 1. what is there
    scheduling.run_tick(cluster_id=cluster_id, now=now)  # 2. what should be
    if not seen.error:
        kubernetes.sync_cluster(cluster_id=cluster_id, now=now)  # 3. make it so
        kubernetes.carry_out(cluster_id=cluster_id, now=now)
    return seen.error
