"""Pods whose interval the ledger does not have to its end, as plain values."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, QuerySet

from portal.usage.appending import SECOND, Row
from portal.usage.cells import cells
from portal.workloads.models import UNSETTLED, Pod

TIMES = ("pk", "scheduled_at", "closed_at", "ledger_until", "seen_at")
IN_STEP_AT = "workload__cluster__seen_at"
SAYS = {
    "cluster_id": "workload__cluster_id", "pod_uid": "uid", "from_at": "scheduled_at",
    "to_at": "scheduled_at", "workload_id": "workload_id",
    "reservation_id": "workload__reservation_id", "team_id": "workload__team_id",
    "user_id": "workload__user_id", "pool_id": "node__pool_id", "node_id": "node_id",
    "gpu_model": "node__pool__gpu_model__name", "gpu_milli": "gpu_milli",
    "cpu_milli": "cpu_milli", "memory_mib": "memory_mib", "charged_to": "charged_to",
    "estimated": "estimated",
}  # fmt: skip
"""Column of the ledger → where a pod has it."""
AT_ONCE = 500


class Holding(NamedTuple):
    """One pod's interval, and a row of the ledger that says everything but which cell it is.

    While it is open it was surely there until `seen_at`: when a look last showed it, or when its
    cluster's rows were last in step.
    """

    pod_id: int
    scheduled_at: datetime
    closed_at: datetime | None
    ledger_until: datetime | None
    seen_at: datetime
    row: Row

    @property
    def begins(self) -> datetime:
        """From where the ledger does not have it yet."""
        return self.ledger_until or self.scheduled_at

    def rows(self, until: datetime) -> Iterator[Row]:
        """The cells from where the ledger ends up to an instant; less than a second is nothing."""
        for from_at, to_at in cells(self.begins, until):
            seconds = (to_at - from_at) // SECOND
            if seconds:
                yield self.row._replace(from_at=from_at, to_at=to_at, seconds=seconds)


def unsettled(cluster_id: int) -> list[Holding]:
    """Pods of a cluster that hold or held devices the ledger does not have yet, or has too many."""
    open_or_late = Pod.objects.filter(UNSETTLED, node__cluster_id=cluster_id).order_by()
    # The index of unsettled pods first, then those rows by key: history is never read.
    pks = sorted(open_or_late.values_list("pk", flat=True))
    return [row for first in range(0, len(pks), AT_ONCE) for row in of_pods(pks[first:][:AT_ONCE])]


def due(cluster_id: int, line: datetime, at_most: int) -> list[Holding]:
    """Some of these that a grid line has passed, that ended, or that are new to the ledger."""
    pods = Pod.objects.filter(UNSETTLED, node__cluster_id=cluster_id).filter(
        Q(closed_at__isnull=False) | Q(ledger_until__isnull=True) | Q(ledger_until__lt=line)
    )
    return of_pods(list(pods.order_by().values_list("pk", flat=True)[:at_most]))


def of_pods(pod_ids: Collection[int]) -> list[Holding]:
    """These pods, as far as they hold or held devices."""
    return _holdings(Pod.objects.filter(pk__in=pod_ids))


def _holdings(pods: QuerySet[Pod]) -> list[Holding]:
    placed = pods.filter(scheduled_at__isnull=False, node__isnull=False).order_by("id")
    found: list[Holding] = []
    for in_step_at, *values in placed.values_list(IN_STEP_AT, *TIMES, *SAYS.values()):
        said = dict(zip(SAYS, values[len(TIMES) :], strict=True))
        row = Row(**said, revision=0, sign=1, seconds=0, source="pod")
        holding = Holding._make((*values[: len(TIMES)], row))
        seen_at = max(holding.seen_at, in_step_at or holding.seen_at)
        found.append(holding._replace(seen_at=seen_at))
    return found
