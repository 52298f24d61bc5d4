"""From what monitoring says of pods to how busy workloads were. No network, no writes.

A pod's busy share counts for what the ledger says it held, cell by cell, so no more is ever
measured than was held; cells without a sample stay unmeasured.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Q, Sum

from portal.usage import rollups
from portal.usage.appending import hour_of
from portal.usage.cells import floor
from portal.usage.models import HourlyUse, MeasuredUse
from portal.usage.prometheus import Series
from portal.usage.rollups import HELD
from portal.usage.services import Measurement
from portal.workloads.models import Pod

MILLI_SECONDS_PER_GPU_HOUR = 3_600_000
Name = tuple[str, str]
Key = tuple[int, datetime]


@dataclass(frozen=True, slots=True)
class _Held:
    """What pods of one name held in one cell, for one workload."""

    workload_id: int
    amount: int


def work_out(
    cluster_id: int, series: Iterable[Series], from_at: datetime, to_at: datetime
) -> list[Measurement]:
    """What these series measure of the cluster's workloads in the whole hours of a period."""
    held = _held(cluster_id, from_at, to_at)
    measured: dict[Key, int] = defaultdict(int)
    used: dict[Key, Decimal] = defaultdict(Decimal)
    for one in series:
        for cell, busy in one.busy.items():
            for part in held.get((one.namespace, one.pod, cell), ()):
                key = (part.workload_id, hour_of(cell))
                measured[key] += part.amount
                used[key] += part.amount * busy
    return [
        Measurement(workload_id, hour, amount, min(amount, int(used[workload_id, hour])))
        for (workload_id, hour), amount in sorted(measured.items())
        if amount > 0
    ]


def news(found: Iterable[Measurement]) -> list[Measurement]:
    """Those that say something else than is known, and no less of an hour than is known.

    A monitoring that has lost what it once knew takes nothing back.
    """
    found = list(found)
    if not found:
        return []
    hours = [one.hour for one in found]
    rows = MeasuredUse.objects.filter(
        hour__gte=min(hours), hour__lte=max(hours), workload_id__in={o.workload_id for o in found}
    )
    known: dict[Key, tuple[int, int]] = {
        (pk, hour): (measured, used)
        for pk, hour, measured, used in rows.values_list(
            "workload_id", "hour", "measured_milli_seconds", "used_milli_seconds"
        )
    }
    return [
        one
        for one in found
        if one.measured_milli_seconds >= known.get((one.workload_id, one.hour), (0, 0))[0]
        and known.get((one.workload_id, one.hour))
        != (one.measured_milli_seconds, one.used_milli_seconds)
    ]


def _held(
    cluster_id: int, from_at: datetime, to_at: datetime
) -> dict[tuple[str, str, datetime], list[_Held]]:
    """What the ledger has of each cell, by the name the cluster gave the pod."""
    rows = rollups.within(from_at, to_at).filter(cluster_id=cluster_id)
    sums = rows.values_list("pod_uid", "workload_id", "from_at").annotate(held=Sum(HELD))
    cells: dict[tuple[str, int, datetime], int] = defaultdict(int)
    for uid, workload_id, at, amount in sums.iterator():
        cells[uid, workload_id, floor(at)] += amount
    names = _names(cluster_id, from_at, to_at)
    held: dict[tuple[str, str, datetime], list[_Held]] = defaultdict(list)
    for (uid, workload_id, cell), amount in cells.items():
        name = names.get((workload_id, uid))
        if name is not None and amount > 0:
            held[*name, cell].append(_Held(workload_id, amount))
    return held


def _names(cluster_id: int, from_at: datetime, to_at: datetime) -> dict[tuple[int, str], Name]:
    """Namespace and name of every pod that held devices in a period."""
    pods = Pod.objects.filter(
        Q(closed_at__isnull=True) | Q(closed_at__gt=from_at), workload__cluster_id=cluster_id,
        scheduled_at__lt=to_at,
    ).order_by()  # fmt: skip
    return {
        (workload_id, uid): (namespace, name)
        for workload_id, uid, namespace, name in pods.values_list(
            "workload_id", "uid", "workload__namespace", "name"
        )
    }


@dataclass(frozen=True, slots=True)
class HourMeasured:
    """How much of what a cluster's pods held in an hour was measured, and was used."""

    hour: datetime
    held: int
    measured: int
    used: int

    @property
    def gap(self) -> int:
        """What was held and not measured."""
        return max(0, self.held - self.measured)

    @property
    def in_gpu_hours(self) -> dict[str, float]:
        """The figures as people read them."""
        figures = {
            "held": self.held, "measured": self.measured, "gap": self.gap, "used": self.used
        }  # fmt: skip
        return {name: figure / MILLI_SECONDS_PER_GPU_HOUR for name, figure in figures.items()}


def hours_measured(cluster_id: int, from_at: datetime, to_at: datetime) -> list[HourMeasured]:
    """Every hour of a period in which anything was held, newest first."""
    rows = HourlyUse.objects.filter(cluster_id=cluster_id, hour__gte=from_at, hour__lt=to_at)
    sums = rows.order_by("-hour").values_list("hour").annotate(
        Sum("gpu_milli_seconds"), Sum("measured_milli_seconds"), Sum("used_milli_seconds")
    )  # fmt: skip
    return [HourMeasured(*row) for row in sums]
