"""Pods whose interval the ledger does not have to its end, as plain values."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import F, Q, QuerySet

from portal.usage.appending import SECOND, Row
from portal.usage.cells import cells
from portal.workloads.models import Pod

COLUMNS = (
    "pk", "uid", "scheduled_at", "closed_at", "ledger_until", "seen_at", "workload__cluster_id",
    "workload_id", "workload__reservation_id", "workload__team_id", "workload__user_id",
    "node__pool_id", "node_id", "node__pool__gpu_model__name", "gpu_milli", "cpu_milli",
    "memory_mib", "charged_to", "estimated",
)  # fmt: skip


class Holding(NamedTuple):
    """One pod's interval and everything a row of the ledger says of it."""

    pod_id: int
    pod_uid: str
    scheduled_at: datetime
    closed_at: datetime | None
    ledger_until: datetime | None
    seen_at: datetime
    cluster_id: int
    workload_id: int
    reservation_id: int | None
    team_id: int | None
    user_id: int | None
    pool_id: int
    node_id: int
    gpu_model: str
    gpu_milli: int
    cpu_milli: int
    memory_mib: int
    charged_to: str
    estimated: bool

    @property
    def begins(self) -> datetime:
        """From where the ledger does not have it yet."""
        return self.ledger_until or self.scheduled_at

    def rows(self, until: datetime) -> Iterator[Row]:
        """The cells from where the ledger ends up to an instant."""
        for from_at, to_at in cells(self.begins, until):
            yield Row(
                cluster_id=self.cluster_id, pod_uid=self.pod_uid, from_at=from_at, to_at=to_at,
                revision=0, sign=1, workload_id=self.workload_id,
                reservation_id=self.reservation_id, team_id=self.team_id, user_id=self.user_id,
                pool_id=self.pool_id, node_id=self.node_id, gpu_model=self.gpu_model,
                gpu_milli=self.gpu_milli, cpu_milli=self.cpu_milli, memory_mib=self.memory_mib,
                charged_to=self.charged_to, seconds=(to_at - from_at) // SECOND, source="pod",
                estimated=self.estimated,
            )  # fmt: skip


def unsettled(cluster_id: int) -> list[Holding]:
    """Pods of a cluster that hold or held devices the ledger does not have yet, or has too many."""
    ended_elsewhere = Q(ledger_until__isnull=True) | ~Q(ledger_until=F("closed_at"))
    pods = Pod.objects.filter(Q(closed_at__isnull=True) | ended_elsewhere)
    return _holdings(pods.filter(workload__cluster_id=cluster_id))


def of_pods(pod_ids: Collection[int]) -> list[Holding]:
    """These pods, as far as they hold or held devices."""
    return _holdings(Pod.objects.filter(pk__in=pod_ids))


def _holdings(pods: QuerySet[Pod]) -> list[Holding]:
    placed = pods.filter(scheduled_at__isnull=False, node__isnull=False).order_by("id")
    return [Holding(*values) for values in placed.values_list(*COLUMNS)]
