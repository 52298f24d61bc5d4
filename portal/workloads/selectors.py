"""What is open in a cluster as its rows have it."""

from datetime import datetime

from portal.workloads.lookups import Lookups
from portal.workloads.models import OPEN_STATES, Workload


def list_open(cluster_id: int) -> set[str]:
    """The uids of jobs that have not ended."""
    rows = Workload.objects.filter(cluster_id=cluster_id, state__in=OPEN_STATES)
    return set(rows.order_by().values_list("uid", flat=True))


def list_strayed(cluster_id: int, now: datetime) -> set[str]:
    """Of these the ones whose namespace is another team's now."""
    rows = Workload.objects.filter(cluster_id=cluster_id, state__in=OPEN_STATES).order_by()
    teams = Lookups(cluster_id=cluster_id, seen=(), now=now).teams
    found = rows.values_list("uid", "namespace", "team_id")
    return {uid for uid, namespace, team_id in found if teams.get(namespace) != team_id}
