"""Pools, their calendars, nodes and conflicts: GPU sums and team names, open to the organisation."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, once
from portal.common.api_shapes import DONE, page
from portal.inventory import calendar, parameters, schemas, selectors, sent, services
from portal.inventory.calendar import FOREVER, Span
from portal.inventory.models import CommitmentKind, NodeState
from portal.inventory.selectors import CommitmentRow, ConflictRow, MaintenanceRow, NodeRow, PoolRow
from portal.teams import selectors as teams

WEEK = timedelta(days=7)
LONGEST = timedelta(days=92)


class PoolListView(APIView):
    """Pools with what they have, what is promised and what is left."""

    @ops.operation(page(schemas.POOL), query=(ops.CLUSTER,))
    def get(self, request: Request) -> Response:
        """Filter by `cluster`."""
        rows = selectors.list_pools(
            now=clock.now(), cluster_id=parameters.whole(request, "cluster")
        )
        return paged(request, self, [_pool(row) for row in rows])


class PoolDetailView(APIView):
    """One pool."""

    @ops.operation(schemas.POOL)
    def get(self, request: Request, pool_id: int) -> Response:
        """Its figures as of now."""
        return Response(_pool(selectors.get_pool(pool_id=pool_id, now=clock.now())))


class PoolCalendarView(APIView):
    """What a pool has and who was promised what, over time."""

    @ops.operation(schemas.CALENDAR, query=(ops.FROM, ops.TO))
    def get(self, request: Request, pool_id: int) -> Response:
        """`from` and `to` with offsets; a week from now by default, 92 days at most."""
        now = clock.now()
        pool = selectors.get_pool(pool_id=pool_id, now=now)
        window = parameters.window(request, now=now, default=WEEK, longest=LONGEST)
        first, last = window.from_at, window.to_at
        capacity = selectors.capacity_steps(pool_id=pool_id, from_at=first, to_at=last)
        committed = selectors.committed_steps(pool_id=pool_id, from_at=first, to_at=last)
        blocks = selectors.list_commitments(pool_id=pool_id, from_at=first, to_at=last)
        work = selectors.list_maintenance(pool_id=pool_id, from_at=first, to_at=last)
        names = teams.team_names()
        return Response(
            {
                "pool": {"id": pool.id, "name": pool.name},
                "from": window.from_at,
                "to": window.to_at,
                "as_of": now,
                "capacity": _steps(capacity),
                "committed": _steps(committed),
                "free": _steps(calendar.less(capacity, committed)),
                "blocks": [_block(row, names) for row in blocks],
                "maintenance": [_work(m) for m in work],
            }
        )  # fmt: skip


class MaintenanceListView(APIView):
    """Planned work on nodes, with the drain before it."""

    @ops.operation(page(schemas.MAINTENANCE), query=(ops.POOL, ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """Filter by `pool`; from now on, or in the window of `from` and `to`."""
        now = clock.now()
        window = parameters.window(request, now=now, default=LONGEST, longest=LONGEST * 4)
        rows = selectors.list_maintenance(
            from_at=window.from_at, to_at=window.to_at, pool_id=parameters.whole(request, "pool")
        )
        return paged(request, self, [_work(row) for row in rows])


class _PlanBody(sent.Strict):
    node = sent.an_id()
    starts_at = sent.Instant()
    ends_at = sent.Instant()
    drain_from = sent.Instant(default=None, allow_null=True)
    reason = serializers.CharField(default="", allow_blank=True, max_length=200)


class MaintenancePlanView(APIView):
    """Work to be done on a node."""

    @ops.operation(schemas.MAINTENANCE, body=_PlanBody, status=201)
    def post(self, request: Request) -> Response:
        """`node`, `starts_at`, `ends_at`, and `drain_from` and `reason` if there are any."""

        def act() -> Response:
            body = sent.read(_PlanBody, request.data)
            window = services.plan_maintenance(
                node_id=body.pop("node"), now=clock.now(), actor_id=request.user.pk, **body
            )
            row = selectors.list_maintenance(from_at=window.starts_at, to_at=window.ends_at)
            return Response(_work(next(m for m in row if m.id == window.pk)), status=CREATED)

        return once(request, act)


class MaintenanceCancelView(APIView):
    """Planned work is called off, or ended."""

    @ops.operation(DONE)
    def post(self, request: Request, window_id: int) -> Response:
        """No body."""

        def act() -> Response:
            services.cancel_maintenance(
                window_id=window_id, now=clock.now(), actor_id=request.user.pk
            )
            return Response({"id": window_id})

        return once(request, act)


class NodeListView(APIView):
    """Nodes known now."""

    @ops.operation(
        page(schemas.NODE),
        query=(ops.CLUSTER, ops.POOL, ops.word("state", NodeState.values, "Only in this state.")),
    )
    def get(self, request: Request) -> Response:
        """Filter by `cluster`, `pool` and `state`."""
        state = parameters.one_of(request, "state", NodeState.values)
        rows = selectors.list_nodes(
            now=clock.now(),
            cluster_id=parameters.whole(request, "cluster"),
            pool_id=parameters.whole(request, "pool"),
        )
        found = [_node(row) for row in rows if state in (None, row.state)]
        return paged(request, self, found)


class ConflictListView(APIView):
    """Where more is promised than there is."""

    @ops.operation(page(schemas.CONFLICT), query=(ops.POOL,))
    def get(self, request: Request) -> Response:
        """Filter by `pool`."""
        names = teams.team_names()
        rows = selectors.list_conflicts(now=clock.now(), pool_id=parameters.whole(request, "pool"))
        return paged(request, self, [_conflict(row, names) for row in rows])


def paged(request: Request, view: APIView, rows: list[dict[str, object]]) -> Response:
    """One page of rows."""
    paging = Paging()
    page = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response(page or [])


def _pool(row: PoolRow) -> dict[str, object]:
    return {
        "id": row.id, "name": row.name, "cluster": {"id": row.cluster_id, "name": row.cluster_name},
        "gpu_model": row.gpu_model, "memory_mib": row.memory_mib, "sharing": row.sharing,
        "resource_name": row.resource_name, "gpu_equivalent_milli": row.gpu_equivalent_milli,
        "nodes": row.nodes, "largest_node": row.largest_node, "gpus": row.gpus,
        "ready": row.ready, "maintenance": row.maintenance, "down": row.down,
        "committed": row.committed, "free": row.free,
    }  # fmt: skip


def _node(row: NodeRow) -> dict[str, object]:
    return {
        "id": row.id, "name": row.name, "cluster": row.cluster_id,
        "pool": {"id": row.pool_id, "name": row.pool_name}, "gpus": row.gpus,
        "cpu_milli": row.cpu_milli, "memory_mib": row.memory_mib, "zone": row.zone,
        "topology": row.topology, "state": row.state, "condition": row.condition,
        "first_seen_at": row.first_seen_at, "down_since": row.down_since,
    }  # fmt: skip


def _block(row: CommitmentRow, names: dict[int, str]) -> dict[str, object]:
    reservation = row.kind is CommitmentKind.RESERVATION
    return {
        "kind": row.kind, "team": {"id": row.team_id, "name": names.get(row.team_id, "")},
        "quota": None if reservation else row.source_id,
        "reservation": row.source_id if reservation else None,
        "gpus": row.gpus, "gpus_per_node": row.gpus_per_node, "adds": row.adds,
        "starts_at": row.starts_at, "ends_at": row.ends_at,
    }  # fmt: skip


def _work(row: MaintenanceRow) -> dict[str, object]:
    return {
        "id": row.id, "node": row.node_name, "pool": row.pool_id, "gpus": row.gpus,
        "starts_at": row.starts_at, "ends_at": row.ends_at, "drain_from": row.drain_from,
        "reason": row.reason,
    }  # fmt: skip


def _conflict(row: ConflictRow, names: dict[int, str]) -> dict[str, object]:
    return {
        "pool": {"id": row.pool_id, "name": row.pool_name}, "measure": row.measure,
        "cause": row.cause, "from": row.from_at, "to": row.to_at, "worst_at": row.worst_at,
        "capacity": row.capacity, "committed": row.committed, "short": row.short,
        "down": row.down, "maintenance": row.maintenance,
        "blocks": [_block(block, names) for block in row.commitments],
    }  # fmt: skip


def _steps(spans: Iterable[Span]) -> list[dict[str, object]]:
    return [{"from": span.from_at, "to": _end(span.to_at), "gpus": span.gpus} for span in spans]


def _end(at: datetime) -> datetime | None:
    return at if at < FOREVER else None
