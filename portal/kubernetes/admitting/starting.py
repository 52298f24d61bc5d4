"""Lets jobs start: whole gangs, written down first, each object in one change.

A suspended Job, RayJob or RayCluster gets everything in the request that lets it start. Pods that
wait by the gate are asked one by one, each for its own node, once as many are there as may start.
Where jobs start by themselves, what we suspended is resumed and nothing else of it changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from portal.kubernetes.admitting import orders as giving
from portal.kubernetes.admitting import shaping
from portal.kubernetes.admitting.asking import Asker
from portal.kubernetes.admitting.choosing import Due
from portal.kubernetes.admitting.orders import Orders
from portal.kubernetes.models import Stop, Verb
from portal.kubernetes.port import Manifest
from portal.workloads import admissions
from portal.workloads.models import Pod, Workload

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """How one job starts: objects as they are and as they shall be; `why_not` where it may not."""

    moves: tuple[tuple[Verb, Manifest, Mapping[str, object]], ...] = ()
    why_not: str = ""


def start(asker: Asker, due: Due) -> bool:
    """Let one job start; tells whether it may now. What stands in the way is kept as a row."""
    given = giving.give(
        pool=due.pool, placements=due.placements, asked=due.workload.tasks,
        charged_to=due.charged_to, classes=asker.classes(),
        isolation=due.workload.team.runtime_class if due.workload.team else "",
    )  # fmt: skip
    way = _way(asker, due.workload, given)
    if way.why_not:
        asker.note(due.workload, Verb.START, way.why_not)
    if not way.moves:
        return False
    if asker.rehearses:
        return _move(asker, due.workload, way)
    written = admissions.let_start(
        workload_id=due.workload.pk, pool_id=due.pool.pk, tick_id=asker.tick_id,
        placements=due.placements, charged_to=due.charged_to, now=asker.now,
    )  # fmt: skip
    if written is None:
        return False
    if _move(asker, due.workload, way):
        Stop.objects.filter(workload=due.workload, resumes=True).update(resumes=False)
        return True
    admissions.end(workload_id=due.workload.pk, why=admissions.REFUSED, now=asker.now)
    return False


def _move(asker: Asker, workload: Workload, way: Way) -> bool:
    """Ask for each object; false when none of them moved."""
    answers = [asker.change(workload, verb, was, now) for verb, was, now in way.moves]
    return not all(answers)


def _way(asker: Asker, workload: Workload, given: Orders) -> Way:
    if workload.owner_kind in shaping.SUSPENDED:
        item = asker.owner(workload)
        if item is None:
            # Deleted under our hands: the next look says so.
            return Way()
        if shaping.is_suspended(item):
            if not asker.admits:
                return Way(((Verb.START, item, shaping.resumed(item)),))
            return _way_of_job(workload, item, given)
    return _way_of_pods(asker, workload, given)


def _way_of_job(workload: Workload, item: Manifest, given: Orders) -> Way:
    if shaping.devices(item, given.resource) * MILLI != workload.tasks * workload.gpu_milli:
        # Edited after the look the tick decided on: the next one decides on what it asks for now.
        return Way(why_not=_("It was edited meanwhile, so it is looked at again first."))
    if given.tasks < workload.tasks and workload.owner_kind not in shaping.SHRINKS:
        return Way(
            why_not=_("A %(kind)s starts with all its tasks or not at all.")
            % {"kind": workload.owner_kind}
        )
    return Way(((Verb.START, item, shaping.started(item, given)),))


def _way_of_pods(asker: Asker, workload: Workload, given: Orders) -> Way:
    gated = gated_pods(asker, workload, given.tasks)
    if not gated:
        return Way()
    if len(gated) < given.tasks:
        return Way(
            why_not=_("Only %(there)s of the %(tasks)s pods that may start are there.")
            % {"there": len(gated), "tasks": given.tasks}
        )
    if why_not := _not_isolated(gated, given):
        return Way(why_not=why_not)
    pairs = zip(gated, given.nodes(), strict=True)
    return Way(tuple((Verb.UNGATE, pod, shaping.ungated(pod, given, node)) for pod, node in pairs))


def gated_pods(asker: Asker, workload: Workload, most: int) -> list[Manifest]:
    """At most so many of a job's pods that wait for us, oldest first."""
    rows = Pod.objects.filter(
        workload=workload, closed_at__isnull=True, scheduled_at__isnull=True,
        stopping_at__isnull=True,
    ).order_by("created_at", "id")  # fmt: skip
    found: list[Manifest] = []
    for name, uid in rows.values_list("name", "uid"):
        if len(found) == most:
            break
        pod = asker.find("Pod", workload.namespace, name, uid)
        if pod is not None and shaping.is_gated(pod):
            found.append(pod)
    return found


def _not_isolated(gated: list[Manifest], given: Orders) -> str:
    """A pod's RuntimeClass is its own and never changes, so a pod without ours may not start."""
    wanted = given.runtime_class
    others = {str(pod["spec"].get("runtimeClassName") or "") for pod in gated} - {wanted}
    if not wanted or not others:
        return ""
    return _("Jobs here are isolated: the pod must name runtimeClassName %(name)s.") % {
        "name": wanted
    }
