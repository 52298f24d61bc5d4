"""What a simulated cluster measures: how busy each pod is, drawn from a seed as its traces lack it.

The same pod is always as busy in the same cell. Most jobs compute most of the time, some hold GPUs
and hardly do; now and then a sample is missing.
"""

import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from portal.usage.cells import cells
from portal.usage.prometheus import Series
from portal.workloads.models import Kind, Pod

BUSY = {
    Kind.TRAINING: (60, 97), Kind.BATCH: (45, 95), Kind.INFERENCE: (15, 60),
    Kind.INTERACTIVE: (1, 40),
}  # fmt: skip
"""Between how many and how many percent jobs of a class compute."""
QUIET_OF_100, GAPS_OF_100, WAVERS = 6, 2, 10


def read(cluster_id: int, from_at: datetime, to_at: datetime) -> list[Series]:
    """One series for each pod that held devices in a period."""
    pods = Pod.objects.filter(workload__cluster_id=cluster_id, scheduled_at__lt=to_at)
    pods = pods.exclude(closed_at__lte=from_at).order_by("pk")
    return [
        Series(namespace, name, dict(_cells(uid, Kind(kind), max(from_at, begins), to_at)))
        for uid, namespace, name, kind, begins in pods.values_list(
            "uid", "workload__namespace", "name", "workload__kind", "scheduled_at"
        )
        if begins is not None
    ]


def _cells(
    uid: str, kind: Kind, from_at: datetime, to_at: datetime
) -> Iterator[tuple[datetime, Decimal]]:
    least, most = BUSY[kind]
    usual = 0 if _draw(uid, 100) < QUIET_OF_100 else least + _draw(f"{uid} usual", most - least)
    for starts_at, ends_at in cells(from_at, to_at):
        seed = f"{uid} {starts_at:%F %T}"
        if _draw(seed, 100) >= GAPS_OF_100 and ends_at - starts_at == timedelta(minutes=5):
            wavered = usual + _draw(f"{seed} wavers", WAVERS) - WAVERS // 2 if usual else 0
            yield starts_at, Decimal(min(100, max(0, wavered))) / 100


def _draw(seed: str, below: int) -> int:
    return zlib.crc32(seed.encode()) % below
