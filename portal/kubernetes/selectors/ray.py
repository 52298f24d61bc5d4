"""Ray clusters: workers wanted and there, and whether Ray counts the GPUs its pods have."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F

from portal.kubernetes.models import RayGroup


@dataclass(frozen=True, slots=True)
class RayRow:
    """A head or worker group; GPUs are those of one pod."""

    id: int
    namespace: str
    name: str
    group: str
    desired: int
    available: int
    pod_gpus: int
    ray_gpus: int
    since: datetime

    @property
    def matches(self) -> bool:
        """Whether Ray counts what the pods have."""
        return self.pod_gpus == self.ray_gpus


def list_ray(*, cluster_id: int) -> list[RayRow]:
    """Groups of a cluster, those that count wrong first."""
    rows = RayGroup.objects.filter(cluster_id=cluster_id)
    found = [
        RayRow(
            id=row.pk, namespace=row.namespace, name=row.name, group=row.group,
            desired=row.desired, available=row.available, pod_gpus=row.pod_gpus,
            ray_gpus=row.ray_gpus, since=row.since,
        )
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=lambda row: (row.matches, row.namespace, row.name, row.id))


def count_wrong() -> dict[int, int]:
    """Cluster id → groups where Ray counts other GPUs than its pods have."""
    rows = RayGroup.objects.exclude(pod_gpus=F("ray_gpus")).order_by().values_list("cluster_id")
    return dict(rows.annotate(wrong=Count("pk")))
