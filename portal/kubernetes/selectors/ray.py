"""Ray clusters: workers wanted and there, and whether Ray counts the GPUs its pods have."""

from django.db.models import Count, ExpressionWrapper, F, Q, QuerySet
from django.db.models.fields import BooleanField

from portal.kubernetes.models import RayGroup


def list_ray(*, cluster_id: int) -> QuerySet[RayGroup]:
    """Groups of a cluster, those that count wrong first."""
    right = ExpressionWrapper(Q(pod_gpus=F("ray_gpus")), BooleanField())
    rows = RayGroup.objects.filter(cluster_id=cluster_id)
    return rows.order_by(right, "namespace", "name", "id")


def count_wrong() -> dict[int, int]:
    """Cluster id → groups where Ray counts other GPUs than its pods have."""
    rows = RayGroup.objects.exclude(pod_gpus=F("ray_gpus")).order_by().values_list("cluster_id")
    return dict(rows.annotate(wrong=Count("pk")))
