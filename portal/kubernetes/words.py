"""What the pages and the API of this room say: modes, differences, repairs, ages; plain sentences."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import formats
from portal.inventory.models import ClusterMode
from portal.kubernetes.models import Drift, RayGroup, Stop, StopState, SyncRun, SyncState
from portal.kubernetes.selectors import STANDS_STILL, ClusterRow, sort_of
from portal.kubernetes.selectors.clusters import Beat
from portal.kubernetes.selectors.drift import FIELD, IDLE, LATE, POLICIES

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TONES = {
    SyncState.DONE: "good", SyncState.PARTIAL: "warn", SyncState.FAILED: "bad",
    SyncState.INTERRUPTED: "warn",
}  # fmt: skip
SORTS: dict[str, "StrOrPromise"] = {
    FIELD: gettext_lazy("Held by another"),
    LATE: gettext_lazy("Quota not in force"),
    POLICIES: gettext_lazy("Policy missing"),
    IDLE: gettext_lazy("Quota that binds nothing"),
}


@dataclass(frozen=True, slots=True)
class Mode:
    """What a mode writes and what it cannot do."""

    value: ClusterMode
    writes: "StrOrPromise"
    cannot: "StrOrPromise"


MODES = (
    Mode(
        ClusterMode.OBSERVE,
        gettext_lazy("Nothing. It reads nodes, jobs, pods and quotas."),
        gettext_lazy("Everything it says is advice: no quota binds and no job is placed by it."),
    ),
    Mode(
        ClusterMode.QUOTA,
        gettext_lazy(
            "Quotas, priority classes, and one label each of namespaces and nodes; with the "
            "admission policies these bind."
        ),
        gettext_lazy(
            "It places nothing and takes nothing back. Planned starts are advice: the cluster's own "
            "scheduler places. A reservation from a team's own guarantee is not fenced."
        ),
    ),
    Mode(
        ClusterMode.RECLAIM,
        gettext_lazy(
            "The same, and it evicts or suspends burst work that has to make room, whole gangs at "
            "once."
        ),
        gettext_lazy("Jobs still start by themselves, in the order the cluster takes them."),
    ),
    Mode(
        ClusterMode.ADMISSION,
        gettext_lazy(
            "The same, and it decides each start: jobs wait suspended or behind a gate until it is "
            "their turn."
        ),
        gettext_lazy(
            "It cannot hurry an end: grace periods, disruption budgets and finalizers take their time, "
            "and GPUs are free only when the pods are gone."
        ),
    ),
)


def mode(value: str) -> str:
    """A mode in one word."""
    return str(ClusterMode(value).label)


def value(found: Any) -> str:
    """A field's value as people read it; None is "not there"."""
    if found is None:
        return _("not there")
    if isinstance(found, dict | list):
        return json.dumps(found, sort_keys=True, ensure_ascii=False)
    return str(found)


def named(namespace: str, name: str) -> str:
    """An object's name, after its namespace where it has one."""
    return f"{namespace}/{name}" if namespace else name


def meaning(row: Drift) -> str:
    """What a difference means and what to do about it, in one sentence."""
    match sort_of(row):
        case "late":
            return _("The server has not taken this limit up yet: the old one binds.")
        case "policy":
            return _("Not installed, or it does not deny. Apply deploy/kubernetes again.")
        case "idle":
            key = row.field.removeprefix("spec.hard[").removesuffix("]").removeprefix("limits.")
            return _("Enforces nothing: only requests.%(resource)s would.") % {"resource": key}
        case _:
            return ""


def may_take_over(row: Drift) -> bool:
    """Whether the field is ours to take back."""
    return row.closed_at is None and sort_of(row) == FIELD


def beat(found: Beat, real_now: datetime) -> SafeString:
    """How long ago something was; what is overdue says so."""
    if found.real_at is None:
        words = _("never")
        return format_html('<span class="{}">{}</span>', "warn" if found.stale else "soft", words)
    ago = formats.ago(found.real_at, real_now)
    stamp = found.real_at.isoformat()
    if not found.stale:
        return format_html('<time datetime="{}">{}</time>', stamp, ago)
    return format_html(
        '<span class="warn"><time datetime="{}">{}</time> · {}</span>', stamp, ago, _("stale")
    )


def policies(row: ClusterRow) -> str:
    """How many of the admission policies stand."""
    if row.policies_missing is None:
        return _("not known")
    return _("%(there)s of %(all)s") % {"there": row.policies_there, "all": row.policies_all}


def state(run: SyncRun) -> str:
    """How a sync ended; one that undid another says so."""
    if run.undoes_id is not None:
        return _("%(state)s: undid sync %(id)s") % {
            "state": SyncState(run.state).label, "id": run.undoes_id
        }  # fmt: skip
    if hasattr(run, "undone_by"):
        return _("%(state)s, undone since") % {"state": SyncState(run.state).label}
    return str(SyncState(run.state).label)


def stop_tone(row: Stop) -> str:
    """How a stop's state looks."""
    if row.state == StopState.STUCK:
        return "bad"
    return "warn" if row.state in STANDS_STILL else ""


def repair(row: RayGroup) -> str:
    """What is wrong with the GPUs Ray counts, and how it is put right."""
    if row.matches:
        return ""
    numbers = {"ray": row.ray_gpus, "pod": row.pod_gpus, "group": row.group}
    if row.ray_gpus > row.pod_gpus:
        return (
            _(
                "Ray counts %(ray)s GPUs on each pod, and a pod has %(pod)s: tasks are sent to GPUs that "
                "are not there. Take num-gpus out of rayStartParams of %(group)s, or give its pods "
                "%(ray)s; then delete the pods, so that they are made anew."
            )
            % numbers
        )
    if row.ray_gpus == 0:
        return (
            _(
                "Ray counts none of a pod's devices (%(pod)s): it reads only limits whose name ends in "
                "gpu. Set num-gpus: %(pod)s in rayStartParams of %(group)s; then delete the pods, so "
                "that they are made anew."
            )
            % numbers
        )
    return (
        _(
            "A pod has %(pod)s GPUs, and Ray counts %(ray)s: the others stand idle. Take num-gpus out of "
            "rayStartParams of %(group)s; then delete the pods, so that they are made anew."
        )
        % numbers
    )
