"""What became of jobs that were let start: over, suspended by their owner, or never started.

A job whose pods do not all hold their devices is looked at in the cluster. Lost pods that wait by
the gate are let start again in place of those they replace. What has not started by its limit, or
whose node takes no pods any more, is suspended again and waits anew. A job that came before jobs
were let start, and whose pods are refused, is suspended so that it waits like all others.
"""

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from portal.inventory.models import Cluster, Node, NodeState
from portal.kubernetes.admitting import choosing, shaping, starting
from portal.kubernetes.admitting import orders as giving
from portal.kubernetes.admitting.asking import Asker
from portal.kubernetes.models import Stop, Verb
from portal.workloads import admissions
from portal.workloads.models import Admission, Pod, Workload, WorkloadState

REFUSED = ("cluster_quota", "cluster_policy")
"""Words of jobs that have no pods since pods of theirs are refused."""


def follow(asker: Asker, cluster: Cluster) -> None:
    """Look after every open admission with pods that are still to come."""
    holding = admissions.count_holding(cluster_id=cluster.pk)
    for admitted in admissions.list_open(cluster_id=cluster.pk):
        held = holding.get(admitted.workload_id, 0)
        tasks = sum(count for _node, count in admitted.placements)
        # A job of many tasks, few at a time, soon has more that are done than may run at once.
        if not held or held + sum(admitted.done.values()) < tasks:
            row = Admission.objects.select_related("workload__team", "pool").get(pk=admitted.id)
            _look_after(asker, row, _held(row))


def adopt(asker: Asker, cluster: Cluster) -> None:
    """Suspend jobs that run into policies or quotas because nobody let them start."""
    opened = Admission.objects.filter(workload_id=OuterRef("pk"), ended_at__isnull=True)
    has_pods = Pod.objects.filter(workload_id=OuterRef("pk"), closed_at__isnull=True)
    rows = Workload.objects.filter(
        ~Exists(opened), ~Exists(has_pods), cluster=cluster, state=WorkloadState.WAITING,
        owner_kind__in=shaping.SUSPENDED, cluster_reason__in=REFUSED,
    ).order_by("id")  # fmt: skip
    for workload in rows:
        item = asker.owner(workload)
        if item is not None and not shaping.is_suspended(item):
            asker.change(workload, Verb.SUSPEND, item, shaping.stopped(item))


def _held(row: Admission) -> list[str]:
    """The node of each pod that holds its devices."""
    live = Pod.objects.filter(
        workload=row.workload, closed_at__isnull=True, scheduled_at__isnull=False
    )
    return [name or "" for name in live.values_list("node__name", flat=True)]


def _look_after(asker: Asker, row: Admission, held: list[str]) -> None:
    workload = row.workload
    if workload.owner_kind not in shaping.SUSPENDED:
        _replace(asker, row, held)
        return
    item = asker.owner(workload)
    if item is None:
        # Deleted under our hands: the next look says so.
        return
    if shaping.is_suspended(item):
        _end(asker, row, admissions.SUSPENDED)
        return
    late = not held and _is_too_late(asker, row)
    if late and not asker.change(workload, Verb.SUSPEND, item, shaping.stopped(item)):
        _end(asker, row, admissions.NOT_STARTED)
        _resume_later(asker, workload)


def _resume_later(asker: Asker, workload: Workload) -> None:
    """It was us who suspended it, once more, so it is ours to resume."""
    last = Stop.objects.filter(workload=workload).order_by("-id").first()
    if last is not None and not asker.rehearses:
        Stop.objects.filter(pk=last.pk).update(resumes=True)


def _end(asker: Asker, row: Admission, why: str) -> None:
    if not asker.rehearses:
        admissions.end(workload_id=row.workload_id, why=why, now=asker.now)


def _is_too_late(asker: Asker, row: Admission) -> bool:
    """Whether it has had its time, or a node it was to start on takes no pods any more."""
    if asker.now - row.at >= timedelta(seconds=settings.START_SECONDS):
        return True
    names = {str(node) for node, _tasks in row.placements}
    return asker.admits and bool(names - _usable(row, names))


def _usable(row: Admission, names: set[str]) -> set[str]:
    """Those of the nodes that take pods now."""
    ready = Node.objects.filter(
        cluster_id=row.workload.cluster_id, removed_at__isnull=True, state=NodeState.READY,
        name__in=names,
    )  # fmt: skip
    return set(ready.values_list("name", flat=True))


def _replace(asker: Asker, row: Admission, held: list[str]) -> None:
    """Let pods that wait by the gate start where earlier ones of the job were."""
    coming = Pod.objects.filter(
        workload=row.workload, closed_at__isnull=True, scheduled_at__isnull=True
    ).count()
    gated = starting.gated_pods(asker, row.workload, coming)
    # Pods without a gate that no node has yet stand for as many of the missing ones.
    nodes = list(choosing.missing(row, held))[coming - len(gated) :]
    usable = _usable(row, set(nodes))
    given = giving.give(
        pool=row.pool, placements=[(str(node), int(tasks)) for node, tasks in row.placements],
        asked=row.tasks, charged_to=row.charged_to, classes=asker.classes(),
        isolation=row.workload.team.runtime_class if row.workload.team else "",
    )  # fmt: skip
    for pod, node in zip(gated, (name for name in nodes if name in usable), strict=False):
        asker.change(row.workload, Verb.UNGATE, pod, shaping.ungated(pod, given, node))
