"""What was asked of a cluster for its jobs, and which of them still make room."""

from django.db.models import Count, Q, QuerySet

from portal.kubernetes.models import Ask, Stop, StopState

STANDS_STILL = (StopState.BLOCKED, StopState.OVERDUE, StopState.STUCK, StopState.REFUSED)
"""States of a stop that somebody may have to do something about."""


def list_asks(*, cluster_id: int, verb: str = "", refused: bool = False) -> QuerySet[Ask]:
    """Starts, stops and the like that were asked for, newest first."""
    rows = Ask.objects.filter(workload__cluster_id=cluster_id)
    if verb:
        rows = rows.filter(verb=verb)
    return rows.exclude(answer="") if refused else rows


def list_stops(*, cluster_id: int) -> QuerySet[Stop]:
    """Jobs that still make room, longest first."""
    rows = Stop.objects.filter(workload__cluster_id=cluster_id, closed_at__isnull=True)
    return rows.select_related("workload", "made_for").order_by("opened_at", "id")


def count_stops() -> dict[int, tuple[int, int]]:
    """Cluster id → jobs that still make room, and of these those that cannot."""
    rows = Stop.objects.filter(closed_at__isnull=True).order_by().values("workload__cluster_id")
    counted = rows.annotate(stops=Count("pk"), still=Count("pk", filter=Q(state__in=STANDS_STILL)))
    return {row["workload__cluster_id"]: (row["stops"], row["still"]) for row in counted}
