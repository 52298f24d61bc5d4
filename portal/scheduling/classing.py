"""What the rules of classes make of one job in the snapshot.

A pool that does not take everything carries a mark on its nodes, which only jobs it takes may
pass, as with a taint; so the engine knows nothing of classes and says why a job stays outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.db.models import F

from portal.inventory.models import Pool
from portal.scheduling import naming
from portal.scheduling.reading import WorkloadRow
from portal.usage.models import IDLE_BELOW_PERCENT, MeasuredUse
from portal.workloads import classes
from portal.workloads.classes import Classes
from scheduler_core import model as engine

LAST = -(10**9)
"""The priority of a job whose GPUs lie idle: all others go before it."""


@dataclass(frozen=True, slots=True)
class Classing:
    """The rules, and the jobs that were measured idle for longer than their class allows."""

    classes: Classes
    pools: tuple[int, ...] = ()
    idle: frozenset[int] = frozenset()

    def mark(self, pool_id: int) -> tuple[str, ...]:
        """The mark on the nodes of a pool that does not take everything."""
        return (naming.door(pool_id),) if pool_id in self.classes.guarded else ()

    def passes(self, row: WorkloadRow, reserved_in: str | None) -> tuple[str, ...]:
        """The marks a job may pass: of pools that take it, and of the one it has reserved in."""
        if not self.classes.guarded:
            return ()
        size = row.tasks * row.gpu_milli
        taking = (
            naming.door(pool_id)
            for pool_id in self.pools
            if naming.pool(pool_id) == reserved_in or self.classes.takes(pool_id, row.kind, size)
        )
        return (naming.DOORS, *taking)

    def preemptible(self, row: WorkloadRow) -> bool:
        """As its class says, else as it says itself; idle ones always are."""
        if row.pk in self.idle:
            return True
        said = self.classes.of(row.kind).preemptible
        return row.preemptible if said is None else said

    def priority(self, row: WorkloadRow) -> int:
        """Its own and its class's."""
        return LAST if row.pk in self.idle else row.priority + self.classes.of(row.kind).order

    def topology(self, row: WorkloadRow) -> engine.Topology | None:
        """Where its tasks want to be together, if its class says so."""
        level = self.classes.of(row.kind).together
        return engine.Topology(level=level) if level and row.tasks > 1 else None

    def placement(self, row: WorkloadRow) -> engine.Mode | None:
        """Whether it fills nodes or goes apart, if its class says so."""
        return cast(engine.Mode | None, self.classes.of(row.kind).placement or None)


def read(rows: Iterable[WorkloadRow], pools: Iterable[Pool], now: datetime) -> Classing:
    """Read the rules, and who is idle by them."""
    found = classes.get_classes()
    limits = {kind: rule.idle_hours for kind, rule in found.rules.items() if rule.idle_hours}
    idle: set[int] = set()
    for kind, hours in limits.items():
        if hours:
            idle |= _idle([row.pk for row in rows if row.kind == kind], hours, now)
    return Classing(found, tuple(pool.pk for pool in pools), frozenset(idle))


def _idle(ids: list[int], hours: int, now: datetime) -> set[int]:
    """Those that hardly computed in each of the newest whole hours, as was measured."""
    quiet: dict[int, int] = {}
    measured = MeasuredUse.objects.filter(
        workload_id__in=ids, hour__in=classes.whole_hours(now, hours),
        used_milli_seconds__lt=F("measured_milli_seconds") * IDLE_BELOW_PERCENT / 100,
    )  # fmt: skip
    for pk in measured.values_list("workload_id", flat=True):
        quiet[pk] = quiet.get(pk, 0) + 1
    return {pk for pk, count in quiet.items() if count == hours}
