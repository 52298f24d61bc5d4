"""Why pods went, where we know better than the cluster: to make room for another job."""

from collections.abc import Iterable
from dataclasses import replace

from portal.kubernetes.models import Stop
from portal.workloads.seen import SeenPod, SeenWorkload
from portal.workloads.stages import PREEMPTED

BY_US = frozenset({"deleted", "evicted"})
"""What pods say that we suspended, evicted or deleted."""


def told(seen: Iterable[SeenWorkload], *, cluster_id: int) -> list[SeenWorkload]:
    """What was seen, with the reason of those whose stop stands; nothing else changes."""
    stops = Stop.objects.filter(workload__cluster_id=cluster_id, closed_at__isnull=True)
    making_room = set(stops.values_list("workload__uid", flat=True))
    return [_renamed(one) if one.uid in making_room else one for one in seen]


def _renamed(one: SeenWorkload) -> SeenWorkload:
    pods = tuple(_pod(pod) for pod in one.pods)
    return one if pods == one.pods else replace(one, pods=pods)


def _pod(pod: SeenPod) -> SeenPod:
    return replace(pod, why=PREEMPTED) if pod.why in BY_US else pod
