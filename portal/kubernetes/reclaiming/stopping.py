"""Asks one job to stop: by suspending it, by running with fewer tasks, or pod by pod.

A disruption budget is honoured for as long as the pool's grace; then the pod is deleted.
"""

from datetime import timedelta

from portal.inventory.models import Pool
from portal.kubernetes.admitting import shaping
from portal.kubernetes.admitting.asking import BUDGET, Asker
from portal.kubernetes.models import Stop, StopState, Verb
from portal.kubernetes.port import Manifest
from portal.kubernetes.reclaiming import opening
from portal.workloads import admissions
from portal.workloads.models import Pod

DEFAULT_GRACE = 30
"""What Kubernetes gives a pod that names no grace period."""


def stop(asker: Asker, row: Stop) -> None:
    """Ask for what is still to be asked."""
    workload = row.workload
    if workload.owner_kind in shaping.SUSPENDED:
        item = asker.owner(workload)
        # Deleted under our hands, or finished: its pods end without us.
        if item is not None:
            _by_its_owner(asker, row, item)
    else:
        _pod_by_pod(asker, row)


def grace_of(row: Stop) -> int:
    """How long pods of this stop, and budgets for them, may keep their devices."""
    held = opening.pods(row.workload).filter(node__isnull=False).values_list("node__pool_id")
    pool = Pool.objects.filter(pk__in=held).order_by("grace_seconds").first()
    pool = pool or row.workload.pool
    return pool.grace_seconds if pool else Pool._meta.get_field("grace_seconds").get_default()


def _by_its_owner(asker: Asker, row: Stop, item: Manifest) -> None:
    if shaping.is_suspended(item):
        _free(asker, row)
        return
    kind, part = str(item["kind"]), row.tasks
    if part is not None and kind in shaping.SHRINKS:
        if not opening.was_accepted(row, Verb.SHRINK):
            runs = int(item["spec"].get("parallelism", 1))
            left = max(row.workload.min_tasks or 1, runs - part)
            after = shaping.shrunk(item, left)
            _settle(asker, row, asker.change(row.workload, Verb.SHRINK, item, after))
        return
    answer = asker.change(row.workload, Verb.SUSPEND, item, shaping.stopped(item))
    if not answer and not asker.rehearses:
        Stop.objects.filter(pk=row.pk).update(resumes=True)
    _settle(asker, row, answer)


def _settle(asker: Asker, row: Stop, answer: str) -> None:
    """Keep what the cluster said; what it took frees the job's place."""
    mark(asker, row, StopState.REFUSED if answer else StopState.ASKED, answer)
    if not answer:
        _free(asker, row)


def mark(asker: Asker, row: Stop, state: StopState, message: str) -> None:
    """Keep how far a stop has come."""
    if not asker.rehearses:
        Stop.objects.filter(pk=row.pk).update(state=state, message=message)


def _free(asker: Asker, row: Stop) -> None:
    if not asker.rehearses:
        workload_id = row.workload_id
        admissions.end(workload_id=workload_id, why=admissions.PREEMPTED, now=asker.now)


def _pod_by_pod(asker: Asker, row: Stop) -> None:
    """Evict what has not been asked yet, newest first, at most as many as are to go."""
    left = list(opening.members(row))
    leaving = [pod for pod in left if pod.stopping_at is not None]
    staying = [pod for pod in left if pod.stopping_at is None]
    most = len(staying) if row.tasks is None else max(0, row.tasks - len(leaving))
    grace = grace_of(row)
    late = asker.now - row.opened_at >= timedelta(seconds=grace)
    answers = [_send_away(asker, row, pod, grace, late=late) for pod in staying[:most]]
    told = [answer for answer in answers if answer]
    if told:
        blocked = all(BUDGET in answer for answer in told)
        mark(asker, row, StopState.BLOCKED if blocked else StopState.REFUSED, told[0])
    elif answers:
        mark(asker, row, StopState.ASKED, "")
    if len(told) < len(answers):
        _free(asker, row)


def _send_away(asker: Asker, row: Stop, pod: Pod, grace: int, *, late: bool) -> str:
    found = asker.find("Pod", row.workload.namespace, pod.name, pod.uid)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return ""
    own = int(found["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE))
    if late:
        return asker.delete(row.workload, pod.name, pod.uid, min(own, grace))
    return asker.evict(row.workload, pod.name, pod.uid, grace if own > grace else None)
