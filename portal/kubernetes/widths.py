"""How wide quotas are where jobs are let start: as far as a team may ever go. Partly pure.

A pod that waits by the gate counts against its namespace's quotas like one that runs, so a quota as
narrow as what may run now would turn waiting services away instead of queueing them. What may run
is decided at the start and kept by the policies; the quota is the outer fence, the team's limit or
else the pool. Every namespace of a team has all of it: who waits in one takes nothing from another.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import manifests
from portal.kubernetes.manifests import Target
from portal.quotas import selectors as quotas

Limits = Mapping[tuple[int, int], int | None]
"""(team, pool) → the most the team may ever use; None is no limit. Teams without a quota are not in."""


def apply_in(cluster_id: int) -> bool:
    """Whether a cluster's jobs are let start."""
    return Cluster.objects.filter(pk=cluster_id, mode=ClusterMode.ADMISSION).exists()


def limits(*, now: datetime) -> Limits:
    """The limits that hold now."""
    return {(row.team_id, row.pool_id): row.limit for row in quotas.list_quotas(at=now)}


def targets(
    teams: Iterable[tuple[int, Iterable[str]]],
    pools: Iterable[tuple[int, str]],
    capacity: Mapping[str, int],
    most: Limits,
) -> dict[str, dict[str, Target]]:
    """Namespace → pool → the same width for either class and for both together."""
    known = list(pools)
    found: dict[str, dict[str, Target]] = {}
    for team_id, namespaces in teams:
        of_team: dict[str, Target] = {}
        for pool_id, name in known:
            width = _width(most, (team_id, pool_id), capacity.get(name, 0))
            of_team[name] = Target(width, width, width) if width else manifests.NOTHING
        found |= dict.fromkeys(namespaces, of_team)
    return found


def _width(most: Limits, key: tuple[int, int], capacity: int) -> int:
    if key not in most:
        return 0
    limit = most[key]
    return capacity if limit is None else min(limit, capacity)
