"""Who may start now, by the newest tick: with whom it waits for gone, and its devices still free."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef

from portal.inventory.models import Cluster, ClusterMode, Node, Pool
from portal.kubernetes.models import Stop
from portal.scheduling.models import Standing, Tick, Verb
from portal.scheduling.selectors.room import free_gpu_milli
from portal.workloads.admissions import Placement
from portal.workloads.models import Admission, Workload, WorkloadState

WAITS = (WorkloadState.WAITING, WorkloadState.ADMITTED)


@dataclass(frozen=True, slots=True)
class Due:
    """A job the newest tick lets start, and where."""

    workload: Workload
    pool: Pool
    placements: tuple[Placement, ...]
    charged_to: str


def due(*, cluster: Cluster, tick: Tick, now: datetime) -> list[Due]:
    """The jobs that may start, oldest first.

    Left out is what still waits for others to go, what may run already or was let start by this
    very tick, and what would need devices that somebody else has by now: a tick decides on a
    picture, and writers meet the world a moment later. Where jobs start by themselves only those
    are let start that we suspended.
    """
    rows = _standings(cluster, tick)
    if not rows:
        return []
    free = free_gpu_milli(cluster_id=cluster.pk, now=now)
    pools = _pools(cluster.pk)
    found: list[Due] = []
    for row in rows:
        placed = row.detail.get("placements") or []
        placements = tuple((str(one["node"]), int(one["tasks"])) for one in placed)
        pool = pools.get(placements[0][0]) if placements else None
        if pool is not None and _take(free, placements, row.workload.gpu_milli):
            found.append(Due(row.workload, pool, placements, row.charged_to))
    return found


def _standings(cluster: Cluster, tick: Tick) -> list[Standing]:
    before = Admission.objects.filter(workload_id=OuterRef("workload_id"))
    rows = Standing.objects.filter(
        ~Exists(before.filter(ended_at__isnull=True)),
        ~Exists(before.filter(tick_id__gte=tick.pk)),
        workload__cluster=cluster, workload__state__in=WAITS, verb=Verb.START,
    ).select_related("workload__team")  # fmt: skip
    if cluster.mode != ClusterMode.ADMISSION:
        ours = Stop.objects.filter(workload_id=OuterRef("workload_id"), resumes=True)
        rows = rows.filter(Exists(ours))
    ordered = rows.order_by("workload__submitted_at", "workload_id")
    return [row for row in ordered if not row.detail.get("after")]


def _pools(cluster_id: int) -> dict[str, Pool]:
    """The pool of each machine by its name."""
    nodes = Node.objects.filter(cluster_id=cluster_id, removed_at__isnull=True)
    return {node.name: node.pool for node in nodes.select_related("pool")}


def _take(free: dict[str, int], placements: Iterable[Placement], gpu_milli: int) -> bool:
    """Take what a job needs on its nodes; nothing when one of them has not enough."""
    needs: dict[str, int] = defaultdict(int)
    for node, tasks in placements:
        needs[node] += tasks * gpu_milli
    if any(free.get(node, 0) < milli for node, milli in needs.items()):
        return False
    for node, milli in needs.items():
        free[node] -= milli
    return True


def missing(admission: Admission, held: Iterable[str]) -> Iterator[str]:
    """The node of each task of an admission that has no pod, given the nodes of those that have."""
    left: dict[str, int] = defaultdict(int)
    for node in held:
        left[node] += 1
    for node, tasks in admission.placements:
        for _ in range(int(tasks)):
            if left[node]:
                left[node] -= 1
            else:
                yield str(node)
