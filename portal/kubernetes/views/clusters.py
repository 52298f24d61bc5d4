"""How clusters stand: what is fresh, what differs, what was written, what would be."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from portal.common import clock, tables
from portal.common.errors import Missing
from portal.kubernetes import carrying, selectors, syncing, words
from portal.kubernetes.admitting import asking
from portal.kubernetes.diff import Difference, Write
from portal.kubernetes.forms import AskFilter, DriftFilter, LogFilter
from portal.kubernetes.port import ClusterError
from portal.kubernetes.selectors import ClusterRow
from portal.kubernetes.tables import ChangeTable, ClusterTable, DriftTable, RayTable, RunTable
from portal.kubernetes.tables_of_jobs import AskTable
from portal.teams.middleware import access_of
from portal.teams.permissions import DECIDE

MOST_STOPS = 100


@require_safe
def clusters(request: HttpRequest) -> HttpResponseBase:
    """Every cluster: its mode, how old its last read, tick and sync are, what differs."""
    real_now = clock.real_now()
    table = ClusterTable(selectors.list_clusters(real_now=real_now), real_now=real_now)
    context = {"tick_seconds": settings.TICK_SECONDS}
    return tables.listing(request, table, "kubernetes/clusters.html", context, filename="clusters")


@require_safe
def cluster(request: HttpRequest, cluster_id: int) -> HttpResponseBase:
    """One cluster: how it stands, and every field that is not as wanted."""
    row = found(cluster_id)
    form = DriftFilter(request.GET, managers=selectors.list_managers(cluster_id=cluster_id))
    chosen = form.chosen()
    closed = chosen.get("state") == "closed"
    rows = selectors.list_drift(
        cluster_id=cluster_id, closed=closed, sort=chosen.get("sort_of", ""),
        manager=chosen.get("manager", ""), q=chosen.get("search", ""),
    )  # fmt: skip
    table = DriftTable(rows, now=clock.now(), may_act=may_decide(request), closed=closed)
    context = {**frame(request, row, "drift"), "form": form}
    name = f"drift-{row.name}"
    return tables.listing(request, table, "kubernetes/cluster.html", context, filename=name)


@require_safe
def log(request: HttpRequest, cluster_id: int) -> HttpResponseBase:
    """The syncs of a cluster that wrote something, or failed."""
    row = found(cluster_id)
    form = LogFilter(request.GET)
    rows = selectors.list_runs(cluster_id=cluster_id, state=form.chosen().get("state", ""))
    context = {**frame(request, row, "log"), "form": form}
    table = RunTable(rows, now=clock.now())
    name = f"syncs-{row.name}"
    return tables.listing(request, table, "kubernetes/log.html", context, filename=name)


@require_safe
def run(request: HttpRequest, run_id: int) -> HttpResponseBase:
    """The fields one sync changed, from what to what."""
    try:
        one = selectors.get_run(run_id=run_id)
    except Missing as error:
        raise Http404 from error
    table = ChangeTable(selectors.list_changes(run_id=run_id))
    context = {
        "run": one,
        "state": words.state(one),
        "tone": words.TONES.get(one.state, ""),  # type: ignore[call-overload]
        "said": one.message.splitlines(),
    }
    return tables.listing(request, table, "kubernetes/run.html", context, filename=f"sync-{run_id}")


@require_safe
def ray(request: HttpRequest, cluster_id: int) -> HttpResponseBase:
    """Ray clusters: workers wanted and there, GPUs given and counted."""
    row = found(cluster_id)
    table = RayTable(selectors.list_ray(cluster_id=cluster_id))
    context = frame(request, row, "ray")
    name = f"ray-{row.name}"
    return tables.listing(request, table, "kubernetes/ray.html", context, filename=name)


@require_safe
def jobs(request: HttpRequest, cluster_id: int) -> HttpResponseBase:
    """What was asked of jobs, and which of them still make room."""
    row = found(cluster_id)
    form = AskFilter(request.GET)
    chosen = form.chosen()
    rows = selectors.list_asks(
        cluster_id=cluster_id, verb=chosen.get("verb", ""),
        refused=chosen.get("answer") == "refused",
    )  # fmt: skip
    stops = selectors.list_stops(cluster_id=cluster_id)[:MOST_STOPS]
    context = {
        **frame(request, row, "jobs"),
        "form": form,
        "stops": [(stop, words.stop_tone(stop)) for stop in stops],
        "acts": row.mode in carrying.ACTS,
    }
    table = AskTable(rows, now=clock.now())
    name = f"asks-{row.name}"
    return tables.listing(request, table, "kubernetes/jobs.html", context, filename=name)


@dataclass(frozen=True, slots=True)
class Line:
    """One field a sync would change."""

    kind: str
    namespace: str
    name: str
    field: str
    was: Any
    now: Any


@require_safe
def dry_run(request: HttpRequest, cluster_id: int) -> HttpResponseBase:
    """What a sync would write now, and what it would leave to others; nothing is written."""
    row = found(cluster_id)
    fault = ""
    difference = Difference()
    of_jobs: list[asking.Line] = []
    try:
        difference = syncing.dry_run(cluster_id=cluster_id, now=clock.now())
        of_jobs = carrying.rehearse(cluster_id=cluster_id, now=clock.now())
    except ClusterError as error:
        fault = str(error)
    table = ChangeTable([*lines(difference.writes), *of_jobs])
    table.empty_title = gettext_lazy("A sync would write nothing")
    context = {
        "row": row,
        "fault": fault,
        "left": difference.drifts,
        "objects": len(difference.writes)
        + len({(one.kind, one.namespace, one.name) for one in of_jobs}),
        "may_decide": may_decide(request),
    }
    name = f"dry-run-{row.name}"
    return tables.listing(request, table, "kubernetes/dry_run.html", context, filename=name)


def lines(writes: Iterable[Write]) -> list[Line]:
    """Each field of some writes."""
    return [
        Line(write.kind, write.namespace, write.name, change.field, change.was, change.now)
        for write in writes
        for change in write.changes
    ]


def found(cluster_id: int) -> ClusterRow:
    """The cluster of an address."""
    try:
        return selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())
    except Missing as error:
        raise Http404 from error


def may_decide(request: HttpRequest) -> bool:
    """Whether the reader may change how a cluster is looked after."""
    return access_of(request).holds(DECIDE)


def frame(request: HttpRequest, row: ClusterRow, tab: str) -> dict[str, Any]:
    """What stands around each list of a cluster."""
    real_now: datetime = clock.real_now()
    return {
        "row": row,
        "tab": tab,
        "mode": words.mode(row.mode),
        "read": words.beat(row.read, real_now),
        "tick": words.beat(row.tick, real_now),
        "sync": words.beat(row.sync, real_now),
        "policies": words.policies(row),
        "may_decide": may_decide(request),
    }
