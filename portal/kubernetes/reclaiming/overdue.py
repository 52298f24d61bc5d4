"""Pods that should be gone: asked once more with no time left, then shown as stuck.

Nothing here ever takes a pod out of the books by force: while the cluster shows it, its devices
may be at work, so they stay taken until it is gone.
"""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from portal.kubernetes.admitting.asking import Asker
from portal.kubernetes.models import Ask, Stop, StopState, Verb
from portal.kubernetes.port import Manifest
from portal.kubernetes.reclaiming import opening, stopping
from portal.workloads.models import Pod

SLACK = timedelta(seconds=30)
"""What a node may take to say that a pod is gone."""
LAST_SECOND = 1


def hurry(asker: Asker, row: Stop) -> None:
    """Look after the pods of a stop that should be gone by now."""
    grace = stopping.grace_of(row)
    for pod in opening.members(row).filter(stopping_at__lt=asker.now - SLACK):
        found = asker.find("Pod", row.workload.namespace, pod.name, pod.uid)
        if found is not None and _is_overdue(found, pod, grace, asker.now):
            _ask_once_more(asker, row, pod, found)


def _is_overdue(found: Manifest, pod: Pod, grace: int, now: datetime) -> bool:
    own = int(found["metadata"].get("deletionGracePeriodSeconds") or 0)
    assert pod.stopping_at is not None
    return now > pod.stopping_at + timedelta(seconds=min(own, grace)) + SLACK


def _ask_once_more(asker: Asker, row: Stop, pod: Pod, found: Manifest) -> None:
    asked = Ask.objects.filter(
        workload=row.workload, verb=Verb.DELETE, name=pod.name, answer="", at__gte=row.opened_at
    ).first()
    if asked is None:
        asker.delete(row.workload, pod.name, pod.uid, LAST_SECOND)
        stopping.mark(asker, row, StopState.OVERDUE, "")
    elif asker.now > asked.at + SLACK:
        stopping.mark(asker, row, StopState.STUCK, _why(pod, found))


def _why(pod: Pod, found: Manifest) -> str:
    """What holds a pod that was deleted, as far as it shows."""
    finalizers = found["metadata"].get("finalizers") or []
    if finalizers:
        return _(
            "%(pod)s is held by %(finalizers)s. Its GPUs stay taken until whoever set that lets go."
        ) % {"pod": pod.name, "finalizers": ", ".join(map(str, finalizers))}
    return _(
        "%(pod)s does not go, so its node may not answer. Its GPUs stay taken until it is gone."
    ) % {"pod": pod.name}
