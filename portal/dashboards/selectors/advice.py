"""How often a job should save: Young's interval √(2·C·MTBF) from what its pool really suffered.

C is how long the job says a save takes. The mean time between failures is measured: the time nodes
of the pool were known in the last 90 days, over how often one of them went down; a job on several
nodes is stopped by each (Young, "A first order approximation to the optimum checkpoint interval",
Communications of the ACM 17(9), 1974). Where no node failed, nothing is advised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from portal.inventory.models import Node
from portal.scheduling.selectors import PlacementRow
from portal.workloads.models import Workload
from scheduler_core import checkpoint

WINDOW = timedelta(days=90)
DEVICE = 1000


@dataclass(frozen=True, slots=True)
class Advice:
    """Save so often; `failures` of `nodes` like these in `days` days is what it rests on."""

    interval_seconds: int
    save_seconds: int
    mean_seconds: int
    nodes: int
    failures: int
    days: int
    cost: float


def advise(record: Workload, pods: Sequence[PlacementRow], *, now: datetime) -> Advice | None:
    """What to tell an open job that can save; None where nothing can be told. One query."""
    if record.ended_at is not None or not record.save_seconds or record.pool_id is None:
        return None
    begins = now - WINDOW
    known = Q(removed_at__isnull=True) | Q(removed_at__gt=begins)
    downs = Count("outages", filter=Q(outages__starts_at__gte=begins, outages__starts_at__lt=now))
    rows = Node.objects.filter(known, pool_id=record.pool_id, first_seen_at__lt=now)
    nodes = list(rows.order_by().annotate(n=downs).values_list("first_seen_at", "removed_at", "gpus", "n"))  # fmt: skip
    failures = sum(n for *_times, n in nodes)
    if not failures:
        return None
    lived = sum(
        (min(removed or now, now) - max(first, begins)).total_seconds()
        for first, removed, _gpus, _n in nodes
    )
    used = _nodes_of(record, pods, max(gpus for _first, _removed, gpus, _n in nodes))
    mean = checkpoint.mean_time_to_interruption(lived / failures, used)
    save, restore = float(record.save_seconds), float(record.restore_seconds or 0)
    longest = max((now - max(first, begins)) for first, *_rest in nodes)
    return Advice(
        interval_seconds=round(checkpoint.young_interval(save, mean)),
        save_seconds=record.save_seconds,
        mean_seconds=round(mean),
        nodes=used,
        failures=failures,
        days=max(1, round(longest / timedelta(days=1))),
        cost=min(1.0, checkpoint.overhead(save, restore, mean)),
    )


def _nodes_of(record: Workload, pods: Sequence[PlacementRow], largest: int) -> int:
    """On how many nodes it runs, or would at least have to."""
    placed = {pod.node_id for pod in pods if pod.node_id is not None and pod.closed_at is None}
    total = record.tasks * record.gpu_milli
    return len(placed) or max(1, -(-total // (max(1, largest) * DEVICE)))
