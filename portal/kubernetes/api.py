"""Clusters under /api/v1: how they stand, what differs, what was and would be written, and moves."""

from collections.abc import Iterable
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import clock
from portal.common.api import Paging, once
from portal.common.errors import Conflict, Invalid
from portal.inventory import parameters
from portal.inventory.models import ClusterMode
from portal.kubernetes import (
    composing,
    job_form,
    selectors,
    standing,
    syncing,
    taking,
    undoing,
    weighing,
    words,
)
from portal.kubernetes.diff import Write
from portal.kubernetes.models import Drift, SyncRun, SyncState
from portal.kubernetes.port import ClusterError
from portal.kubernetes.selectors import ClusterRow, RayRow
from portal.kubernetes.selectors.clusters import Beat
from portal.teams.middleware import access_of
from portal.teams.models import User

Answer = dict[str, object]


class ClusterListView(APIView):
    """Every cluster and how fresh what is known of it is."""

    def get(self, request: Request) -> Response:
        """Ages are for the asker to work out: both times of each beat are given."""
        rows = selectors.list_clusters(real_now=clock.real_now())
        return paged(request, self, [_cluster(row) for row in rows])


class ClusterDetailView(APIView):
    """One cluster."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """As it stands now."""
        row = selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())
        return Response(_cluster(row))


class DriftListView(APIView):
    """Fields of a cluster that are not as wanted."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """Filter by `state` (open, closed), `sort_of`, `manager` and `q`."""
        _known(cluster_id)
        rows = selectors.list_drift(
            cluster_id=cluster_id,
            closed=parameters.one_of(request, "state", ("open", "closed")) == "closed",
            sort=parameters.one_of(request, "sort_of", selectors.SORTS) or "",
            manager=_text(request, "manager"),
            q=_text(request, "q"),
        )
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_drift(row) for row in page or []])


class SyncListView(APIView):
    """The syncs of a cluster that wrote, were to write, or failed."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """Filter by `state`."""
        _known(cluster_id)
        state = parameters.one_of(request, "state", SyncState.values) or ""
        rows = selectors.list_runs(cluster_id=cluster_id, state=state)
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_run(row) for row in page or []])


class SyncDetailView(APIView):
    """One sync with the fields it changed."""

    def get(self, request: Request, run_id: int) -> Response:
        """The fields come in pages."""
        run = selectors.get_run(run_id=run_id)
        paging = Paging()
        rows = selectors.list_changes(run_id=run_id)
        page = paging.paginate_queryset(rows, request, view=self)
        changes = [
            {
                "kind": row.kind, "namespace": row.namespace, "name": row.name,
                "field": row.field, "from": row.was, "to": row.now,
            }
            for row in page or []
        ]  # fmt: skip
        answer = paging.get_paginated_response(changes)
        answer.data = {"sync": _run(run), **answer.data}
        return answer


class RayListView(APIView):
    """Heads and worker groups of Ray clusters."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """Those that count wrong first."""
        _known(cluster_id)
        rows = selectors.list_ray(cluster_id=cluster_id)
        return paged(request, self, [_ray(row) for row in rows])


class DryRunView(APIView):
    """What a sync would write now."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """The cluster is asked; nothing is written."""
        _known(cluster_id)
        try:
            found = syncing.dry_run(cluster_id=cluster_id, now=clock.now())
        except ClusterError as error:
            raise Conflict(str(error), code="cluster_refused") from error
        return Response(
            {
                "writes": _changes(found.writes),
                "left": [
                    {
                        "kind": one.kind, "namespace": one.namespace, "name": one.name,
                        "field": one.field, "wanted": one.wanted, "found": one.found,
                        "manager": one.manager or None,
                    }
                    for one in found.drifts
                ],
            }
        )  # fmt: skip


class ModeView(APIView):
    """How much is done in a cluster."""

    def post(self, request: Request, cluster_id: int) -> Response:
        """`was` (the mode the asker saw) and `mode`."""

        def act() -> Response:
            standing.change_mode(
                cluster_id=cluster_id, was=_mode(request, "was"), mode=_mode(request, "mode"),
                actor_id=_who(request),
            )  # fmt: skip
            return _now(cluster_id)

        return once(request, act)


class PauseView(APIView):
    """Let a sync rest."""

    def post(self, request: Request, cluster_id: int) -> Response:
        """With a `reason`."""

        def act() -> Response:
            reason = _body(request).get("reason")
            if not isinstance(reason, str) or not reason.strip():
                raise Invalid(_("Say why."), fields={"reason": _("Say why.")})
            standing.pause(
                cluster_id=cluster_id, reason=reason, actor_id=_who(request), now=clock.now()
            )
            return _now(cluster_id)

        return once(request, act)


class ResumeView(APIView):
    """Let a sync go on."""

    def post(self, request: Request, cluster_id: int) -> Response:
        """No body."""

        def act() -> Response:
            standing.resume(cluster_id=cluster_id, actor_id=_who(request), now=clock.now())
            return _now(cluster_id)

        return once(request, act)


class UndoView(APIView):
    """What an undo of the last sync would do, and the undo."""

    def get(self, request: Request, cluster_id: int) -> Response:
        """The cluster is asked; nothing is written."""
        found = undoing.preview(cluster_id=cluster_id, now=clock.now())
        moved = [
            {
                "kind": one.kind, "namespace": one.namespace, "name": one.name,
                "field": one.field, "written": one.written, "found": one.found,
            }
            for one in found.moved
        ]  # fmt: skip
        return Response(
            {
                "sync": found.run.pk, "possible": found.is_possible,
                "writes": _changes(found.writes), "removes": _changes(found.removes),
                "moved": moved,
            }
        )  # fmt: skip

    def post(self, request: Request, cluster_id: int) -> Response:
        """`sync`: the one the asker saw. The cluster is written outside any transaction."""
        run_id = _body(request).get("sync")
        if not isinstance(run_id, int) or isinstance(run_id, bool):
            raise Invalid(_("Give the sync to undo."), fields={"sync": _("Give a whole number.")})
        done = undoing.undo(
            cluster_id=cluster_id, run_id=run_id, actor_id=_who(request), now=clock.now()
        )
        return Response(_run(done))


class TakeOverView(APIView):
    """Take a field back from whoever holds it."""

    def post(self, request: Request, drift_id: int) -> Response:
        """No body. The cluster is written outside any transaction."""
        row = selectors.get_drift(drift_id=drift_id)
        taking.take_over(drift_id=drift_id, actor_id=_who(request), now=clock.now())
        return _now(row.cluster_id)


class JobCheckView(APIView):
    """What would become of a job nobody has handed in, and the manifest to hand in."""

    def post(self, request: Request) -> Response:
        """The fields of the page New job; what is left out is as the page begins. Writes nothing."""
        access, now = access_of(request._request), clock.now()
        desk = job_form.desk_of(access, now=now)
        given = {name: "" if v is None else v for name, v in _body(request).items()}
        form = job_form.JobForm(job_form.beginning(desk, given), desk=desk)
        if not form.is_valid():
            faults = {name: str(errors[0]) for name, errors in form.errors.items()}
            raise Invalid(_("The job has faults."), fields=faults)
        wish, pool = form.wish()
        zone = timezone.get_current_timezone()
        found = weighing.weigh(wish, pool, access=access, zone=zone, now=now)
        order = form.order(found.charge)
        return Response(
            {
                "starts": found.starts, "planned_start": found.planned_start,
                "sentence": found.sentence.text, "more": list(found.more),
                "charge": found.charge, "manifest": composing.manifest(order),
                "yaml": composing.text(order),
            }
        )  # fmt: skip


def paged(request: Request, view: APIView, rows: list[Answer]) -> Response:
    """One page of rows."""
    paging = Paging()
    page = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response(page or [])


def _known(cluster_id: int) -> None:
    selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())


def _now(cluster_id: int) -> Response:
    row = selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())
    return Response(_cluster(row))


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "").replace("\x00", "")[:200]


def _body(request: Request) -> dict[str, Any]:
    return request.data if isinstance(request.data, dict) else {}


def _mode(request: Request, name: str) -> ClusterMode:
    value = _body(request).get(name)
    if not isinstance(value, str) or value not in ClusterMode.values:
        said = _("Give one of: %(words)s.") % {"words": ", ".join(ClusterMode.values)}
        raise Invalid(said, fields={name: said})
    return ClusterMode(value)


def _who(request: Request) -> int | None:
    return request.user.pk if isinstance(request.user, User) else None


def _beat(found: Beat) -> Answer:
    return {"at": found.at, "real_at": found.real_at, "stale": found.stale}


def _cluster(row: ClusterRow) -> Answer:
    missing = row.policies_missing
    return {
        "id": row.id, "name": row.name, "kind": row.kind, "mode": row.mode,
        "read": _beat(row.read), "tick": _beat(row.tick), "sync": _beat(row.sync),
        "paused_at": row.paused_at, "pause_reason": row.pause_reason or None,
        "drift": row.drift, "quotas_not_in_force": row.late, "quotas_without_effect": row.idle,
        "policies_missing": None if missing is None else list(missing),
        "ray_mismatches": row.ray_wrong, "last_error": row.last_error or None,
    }  # fmt: skip


def _drift(row: Drift) -> Answer:
    return {
        "id": row.pk, "sort_of": selectors.sort_of(row), "kind": row.kind,
        "namespace": row.namespace, "name": row.name, "field": row.field, "wanted": row.wanted,
        "found": row.found, "manager": row.manager or None, "opened_at": row.opened_at,
        "closed_at": row.closed_at, "meaning": words.meaning(row) or None,
        "may_be_taken_over": words.may_take_over(row),
    }  # fmt: skip


def _run(row: SyncRun) -> Answer:
    undone = getattr(row, "undone_by", None)
    return {
        "id": row.pk, "cluster": row.cluster_id, "tick": row.tick_id, "at": row.at,
        "state": row.state, "intended": row.intended, "writes": row.writes,
        "took_ms": row.took_ms, "message": row.message or None, "undoes": row.undoes_id,
        "undone_by": undone.pk if undone else None,
    }  # fmt: skip


def _changes(writes: Iterable[Write]) -> list[Answer]:
    return [
        {
            "kind": write.kind, "namespace": write.namespace, "name": write.name,
            "field": change.field, "from": change.was, "to": change.now,
        }
        for write in writes
        for change in write.changes
    ]  # fmt: skip


def _ray(row: RayRow) -> Answer:
    return {
        "namespace": row.namespace, "name": row.name, "group": row.group,
        "desired": row.desired, "available": row.available, "pod_gpus": row.pod_gpus,
        "ray_gpus": row.ray_gpus, "matches": row.matches, "since": row.since,
        "repair": words.repair(row) or None,
    }  # fmt: skip
