"""Clusters to look at: how they stand, what differs, what was and would be written."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging
from portal.common.api_shapes import page
from portal.common.errors import Conflict
from portal.inventory import parameters
from portal.kubernetes import carrying, schemas, selectors, syncing, words
from portal.kubernetes.api import common
from portal.kubernetes.api.common import Answer
from portal.kubernetes.models import Ask, Drift, RayGroup, Stop, SyncState, SyncWrite, Verb
from portal.kubernetes.port import ClusterError


class ClusterListView(APIView):
    """Every cluster and how fresh what is known of it is."""

    @ops.operation(page(schemas.CLUSTER))
    def get(self, request: Request) -> Response:
        """Ages are for the asker to work out: both times of each beat are given."""
        rows = selectors.list_clusters(real_now=clock.real_now())
        return common.page(self, request, rows, common.cluster)


class ClusterDetailView(APIView):
    """One cluster."""

    @ops.operation(schemas.CLUSTER)
    def get(self, request: Request, cluster_id: int) -> Response:
        """As it stands now."""
        row = selectors.get_cluster(cluster_id=cluster_id, real_now=clock.real_now())
        return Response(common.cluster(row))


class DriftListView(APIView):
    """Fields of a cluster that are not as wanted."""

    @ops.operation(
        page(schemas.DRIFT),
        query=(
            ops.word("state", ["open", "closed"], "Closed ones instead of open ones."),
            ops.word("sort_of", selectors.SORTS, "Only of this sort."),
            ops.text("manager", "Who holds the field."),
            ops.text("q", "Part of a name or field."),
        ),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """Filter by `state` (open, closed), `sort_of`, `manager` and `q`."""
        common.known(cluster_id)
        rows = selectors.list_drift(
            cluster_id=cluster_id,
            closed=parameters.one_of(request, "state", ("open", "closed")) == "closed",
            sort=parameters.one_of(request, "sort_of", selectors.SORTS) or "",
            manager=common.text(request, "manager"),
            q=common.text(request, "q"),
        )
        return common.page(self, request, rows, _drift)


class SyncListView(APIView):
    """The syncs of a cluster that wrote, were to write, or failed."""

    @ops.operation(
        page(schemas.SYNC),
        query=(ops.word("state", SyncState.values, "Only in this state."),),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """Filter by `state`."""
        common.known(cluster_id)
        state = parameters.one_of(request, "state", SyncState.values) or ""
        rows = selectors.list_runs(cluster_id=cluster_id, state=state)
        return common.page(self, request, rows, common.run)


class SyncDetailView(APIView):
    """One sync with the fields it changed."""

    @ops.operation(schemas.SYNC_IN_FULL, paged=True)
    def get(self, request: Request, run_id: int) -> Response:
        """The fields come in pages."""
        run = selectors.get_run(run_id=run_id)
        paging = Paging()
        rows = selectors.list_changes(run_id=run_id)
        page: list[SyncWrite] | None = paging.paginate_queryset(rows, request, view=self)
        changes = [
            {
                "kind": row.kind, "namespace": row.namespace, "name": row.name,
                "field": row.field, "from": row.was, "to": row.now,
            }
            for row in page or []
        ]  # fmt: skip
        answer = paging.get_paginated_response(changes)
        answer.data = {"sync": common.run(run), **answer.data}
        return answer


class RayListView(APIView):
    """Heads and worker groups of Ray clusters."""

    @ops.operation(page(schemas.RAY))
    def get(self, request: Request, cluster_id: int) -> Response:
        """Those that count wrong first."""
        common.known(cluster_id)
        rows = selectors.list_ray(cluster_id=cluster_id)
        return common.page(self, request, rows, _ray)


class DryRunView(APIView):
    """What a sync would write now."""

    @ops.operation(schemas.DRY_RUN, fails=(409,))
    def get(self, request: Request, cluster_id: int) -> Response:
        """The cluster is asked; nothing is written."""
        common.known(cluster_id)
        try:
            found = syncing.dry_run(cluster_id=cluster_id, now=clock.now())
            of_jobs = carrying.rehearse(cluster_id=cluster_id, now=clock.now())
        except ClusterError as error:
            raise Conflict(str(error), code="cluster_refused") from error
        return Response(
            {
                "writes": common.changes(found.writes),
                "jobs": [
                    {
                        "kind": one.kind, "namespace": one.namespace, "name": one.name,
                        "field": one.field, "from": one.was, "to": one.now,
                    }
                    for one in of_jobs
                ],
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


class AskListView(APIView):
    """What was asked of a cluster for its jobs."""

    @ops.operation(
        page(schemas.ASK),
        query=(
            ops.word("verb", Verb.values, "Only of this verb."),
            ops.word("answer", ["refused"], "Only what was refused."),
        ),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """Filter by `verb` and `answer` (refused)."""
        common.known(cluster_id)
        rows = selectors.list_asks(
            cluster_id=cluster_id,
            verb=parameters.one_of(request, "verb", Verb.values) or "",
            refused=parameters.one_of(request, "answer", ("refused",)) == "refused",
        )
        return common.page(self, request, rows, _ask)


class StopListView(APIView):
    """Jobs that make room now."""

    @ops.operation(page(schemas.STOP))
    def get(self, request: Request, cluster_id: int) -> Response:
        """Longest first."""
        common.known(cluster_id)
        return common.page(self, request, selectors.list_stops(cluster_id=cluster_id), _stop)


def _drift(row: Drift) -> Answer:
    return {
        "id": row.pk, "sort_of": selectors.sort_of(row), "kind": row.kind,
        "namespace": row.namespace, "name": row.name, "field": row.field, "wanted": row.wanted,
        "found": row.found, "manager": row.manager or None, "opened_at": row.opened_at,
        "closed_at": row.closed_at, "meaning": words.meaning(row) or None,
        "may_be_taken_over": words.may_take_over(row),
    }  # fmt: skip


def _ray(row: RayGroup) -> Answer:
    return {
        "namespace": row.namespace, "name": row.name, "group": row.group,
        "desired": row.desired, "available": row.available, "pod_gpus": row.pod_gpus,
        "ray_gpus": row.ray_gpus, "matches": row.matches, "since": row.since,
        "repair": words.repair(row) or None,
    }  # fmt: skip


def _ask(row: Ask) -> Answer:
    return {
        "id": row.pk, "workload": row.workload_id, "tick": row.tick_id, "verb": row.verb,
        "kind": row.kind, "namespace": row.namespace, "name": row.name, "at": row.at,
        "last_at": row.last_at, "times": row.times, "answer": row.answer or None,
        "changes": [
            {"field": field, "from": was, "to": now} for field, was, now in row.changes
        ],
    }  # fmt: skip


def _stop(row: Stop) -> Answer:
    return {
        "id": row.pk, "workload": row.workload_id, "for": row.made_for_id, "tick": row.tick_id,
        "why": row.why, "tasks": row.tasks, "state": row.state, "opened_at": row.opened_at,
        "message": row.message or None,
    }  # fmt: skip
