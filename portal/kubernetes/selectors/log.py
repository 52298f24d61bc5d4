"""What syncs wrote: one row a sync, and each field from what to what."""

from django.db.models import QuerySet

from portal.common.errors import Missing
from portal.kubernetes.models import SyncRun, SyncWrite


def list_runs(*, cluster_id: int, state: str = "") -> QuerySet[SyncRun]:
    """Syncs of a cluster that wrote, were to write or failed; newest first."""
    rows = SyncRun.objects.filter(cluster_id=cluster_id).select_related("undoes", "undone_by")
    return rows.filter(state=state) if state else rows


def get_run(*, run_id: int) -> SyncRun:
    """One sync. Raises `Missing`."""
    rows = SyncRun.objects.select_related("cluster", "undoes", "undone_by")
    row = rows.filter(pk=run_id).first()
    if row is None:
        raise Missing
    return row


def list_changes(*, run_id: int) -> QuerySet[SyncWrite]:
    """The fields a sync changed, in the order they were written."""
    return SyncWrite.objects.filter(run_id=run_id)
