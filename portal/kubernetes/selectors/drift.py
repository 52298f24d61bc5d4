"""Where a cluster differs from what is wanted, and by whose hand."""

from django.db.models import Q, QuerySet

from portal.common.errors import Missing
from portal.kubernetes.models import Drift
from portal.kubernetes.policies import POLICY

FIELD, LATE, POLICIES, IDLE = "field", "late", "policy", "idle"
_POLICY = Q(kind=POLICY)
_LATE = Q(kind="ResourceQuota", field__startswith="status.hard[")
_IDLE = Q(
    kind="ResourceQuota", field__startswith="spec.hard[", wanted__isnull=True, found__isnull=False
)
SORTS: dict[str, Q] = {
    FIELD: ~(_POLICY | _LATE | _IDLE),
    LATE: _LATE,
    POLICIES: _POLICY,
    IDLE: _IDLE,
}
"""A field in another's hands; a quota not in force; a policy not there; a key nobody counts."""


def sort_of(row: Drift) -> str:
    """Which sort of difference a row is."""
    if row.kind == POLICY:
        return POLICIES
    if row.kind == "ResourceQuota" and row.field.startswith("status.hard["):
        return LATE
    idle = row.wanted is None and row.found is not None
    return IDLE if idle and row.field.startswith("spec.hard[") else FIELD


def list_drift(
    *, cluster_id: int, closed: bool = False, sort: str = "", manager: str = "", q: str = ""
) -> QuerySet[Drift]:
    """Differences of a cluster that are open, or were; newest first."""
    rows = Drift.objects.filter(cluster_id=cluster_id, closed_at__isnull=not closed)
    if sort:
        rows = rows.filter(SORTS.get(sort, Q(pk__in=[])))
    if manager:
        rows = rows.filter(manager=manager)
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(namespace__icontains=q) | Q(field__icontains=q))
    return rows.order_by("-opened_at", "-id")


def list_managers(*, cluster_id: int) -> list[str]:
    """Who holds fields that are not as wanted."""
    rows = Drift.objects.filter(cluster_id=cluster_id).exclude(manager="")
    return sorted(set(rows.order_by().values_list("manager", flat=True)))


def get_drift(*, drift_id: int) -> Drift:
    """One open difference. Raises `Missing`."""
    row = Drift.objects.select_related("cluster").filter(pk=drift_id, closed_at=None).first()
    if row is None:
        raise Missing
    return row
