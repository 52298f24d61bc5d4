"""What was used: sums over a period, told apart by anything; and what monitoring measured."""

from datetime import timedelta
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, once
from portal.common.api_shapes import page
from portal.inventory import parameters
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import ANY_ROLE
from portal.usage import breakdown, schemas, selectors, services
from portal.usage.breakdown import Dimension, UsePart
from portal.usage.selectors import UsageSum
from portal.usage.services import Measurement

MONTH = timedelta(days=31)
LONGEST = timedelta(days=400)


class UsageListView(APIView):
    """GPU-seconds by team, pool and charge, of the teams the asker has a role in."""

    @ops.operation(page(schemas.USE), query=(ops.TEAM, ops.POOL, ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """Filter by `team` and `pool`; `from` and `to` bound the period, by default 31 days."""
        from_at = parameters.instant(request, "from") or clock.now() - MONTH
        period = parameters.window(request, now=from_at, default=MONTH, longest=LONGEST)
        reach = access_of(request._request).teams(ANY_ROLE)
        team_id = parameters.whole(request, "team")
        if team_id is not None:
            reach = frozenset({team_id}) if reach is None else reach & {team_id}
        rows = selectors.sum_usage(
            from_at=period.from_at, to_at=period.to_at, team_ids=reach,
            pool_id=parameters.whole(request, "pool"),
        )  # fmt: skip
        names = teams.team_names()
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_sum(row, names) for row in page or []])


class BreakdownListView(APIView):
    """GPU-time held, estimated and measured, by whatever is asked for."""

    @ops.operation(
        page(schemas.PART),
        query=(
            ops.word("by", Dimension.values, "What it is told apart by."),
            ops.TEAM,
            ops.POOL,
            ops.FROM,
            ops.TO,
        ),
    )
    def get(self, request: Request) -> Response:
        """`by` one of team, department, pool, model, charged_to, person, workload; as in `usage`."""
        from_at = parameters.instant(request, "from") or clock.now() - MONTH
        period = parameters.window(request, now=from_at, default=MONTH, longest=LONGEST)
        by = Dimension(parameters.one_of(request, "by", Dimension.values) or Dimension.TEAM)
        team_id = parameters.whole(request, "team")
        reach = access_of(request._request).teams(breakdown.roles_for(by))
        if team_id is not None:
            reach = frozenset({team_id}) if reach is None else reach & {team_id}
        chosen = breakdown.Filter(
            period.from_at, period.to_at, reach, parameters.whole(request, "pool")
        )
        paging = Paging()
        page = paging.paginate_queryset(breakdown.break_down(by, chosen), request, view=self)
        return paging.get_paginated_response([_part(row) for row in page or []])


class MeasurementSerializer(serializers.Serializer[object]):
    """One workload and hour."""

    workload = serializers.IntegerField()
    hour = serializers.DateTimeField()
    measured_milli_seconds = serializers.IntegerField(min_value=0)
    used_milli_seconds = serializers.IntegerField(min_value=0)


class MeasuredBody(serializers.Serializer[object]):
    """What one reading of the monitoring found."""

    named = serializers.CharField(max_length=40)
    measurements = serializers.ListField(child=MeasurementSerializer(), max_length=10_000)


class MeasuredListView(APIView):
    """How busy devices were, as the cluster's monitoring measured it."""

    @ops.operation(schemas.KEPT, body=MeasuredBody)
    def post(self, request: Request) -> Response:
        """`named` (the monitoring) and up to 10,000 `measurements`; a later sight of an hour replaces an earlier."""

        def act() -> Response:
            given = MeasuredBody(data=request.data)
            given.is_valid(raise_exception=True)
            said: dict[str, Any] = given.validated_data
            kept = services.note_measured(
                measurements=[
                    Measurement(workload_id=one.pop("workload"), **one)
                    for one in said["measurements"]
                ],
                source=said["named"],
                now=clock.now(),
            )
            return Response({"kept": kept})

        return once(request, act)


def _part(row: UsePart) -> dict[str, object]:
    """`key` null is use of no team, or by nobody known."""
    return {
        "key": row.key, "label": row.label, "gpu_milli_seconds": row.held,
        "estimated_milli_seconds": row.estimated, "measured_milli_seconds": row.measured,
        "used_milli_seconds": row.used,
    }  # fmt: skip


def _sum(row: UsageSum, names: dict[int, str]) -> dict[str, object]:
    """`team` null is work in namespaces of no team."""
    team = None if row.team_id is None else {"id": row.team_id, "name": names.get(row.team_id, "")}
    return {
        "team": team, "pool": row.pool_id, "charged_to": row.charged_to,
        "gpu_milli_seconds": row.gpu_milli_seconds,
    }  # fmt: skip
