"""How busy devices were in the newest hours that were measured: utilisation, apart from allocation."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum

from portal.usage.models import HourlyUse
from portal.workloads.models import Workload

BACK = timedelta(hours=3)
IDLE_BELOW = 0.05


@dataclass(frozen=True, slots=True)
class Busy:
    """Which part of their time devices computed, by workload and by pool; what is not measured lacks."""

    workloads: dict[int, float]
    pools: dict[int, float]


def get_busy(*, now: datetime) -> Busy:
    """What monitoring measured of the last three hours: one query."""
    rows = HourlyUse.objects.order_by().filter(
        hour__gt=now - BACK, hour__lte=now, measured_milli_seconds__gt=0
    )
    of_jobs: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    of_pools: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for pool_id, workload_id, measured, used in rows.values_list("pool_id", "workload_id").annotate(
        Sum("measured_milli_seconds"), Sum("used_milli_seconds")
    ):
        for sums in (of_jobs[workload_id], of_pools[pool_id]):
            sums[0] += measured
            sums[1] += used
    return Busy(
        {key: used / measured for key, (measured, used) in of_jobs.items()},
        {key: used / measured for key, (measured, used) in of_pools.items()},
    )


def count_small_tasks(*, pool_id: int) -> dict[int, int]:
    """Open tasks of a pool that ask for less than a GPU, by milli-GPU: one query."""
    rows = Workload.objects.filter(
        pool_id=pool_id, ended_at__isnull=True, gpu_milli__gt=0, gpu_milli__lt=1000
    ).order_by()
    return dict(rows.values_list("gpu_milli").annotate(n=Sum("tasks")))
