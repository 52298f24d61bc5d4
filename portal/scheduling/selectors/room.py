"""What is free on each node now: less what pods hold, and what may hold it from now on."""

from datetime import datetime

from portal.inventory.models import Node, NodeState
from portal.scheduling import expecting, holding, reading
from portal.workloads import admissions
from scheduler_core.resources import DEVICE


def free_gpu_milli(*, cluster_id: int, now: datetime) -> dict[str, int]:
    """Free milli-GPU of every node that takes pods, by its name."""
    nodes = list(Node.objects.filter(cluster_id=cluster_id, removed_at__isnull=True))
    pods = reading.open_pods(cluster_id=cluster_id, now=now)
    opened = admissions.list_open(cluster_id=cluster_id)
    workloads = reading.open_workloads(cluster_id=cluster_id, now=now) if opened else []
    to_come = expecting.expected(opened, workloads, pods, nodes)
    free = {node.pk: node.gpus * DEVICE for node in nodes}
    for pod in [*pods, *to_come]:
        if pod.node_id in free:
            free[pod.node_id] -= holding.whole(pod.gpu_milli)
    return {node.name: free[node.pk] for node in nodes if node.state == NodeState.READY}
