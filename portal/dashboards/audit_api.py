"""The audit trail for programs, of what the asker oversees. Times here are real time."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common.api import Paging
from portal.common.api_shapes import page
from portal.common.errors import Invalid
from portal.common.models import AuditEvent
from portal.dashboards import schemas, trail
from portal.dashboards.trail import TrailFilter
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import OVERSEE


class AuditListView(APIView):
    """Who did what, when, chained by hash."""

    @ops.operation(
        page(schemas.AUDIT_LINE),
        query=(
            ops.text("q", "Words of the action."),
            ops.word("room", trail.ROOMS, "Only of this room."),
            ops.text("person", "Words of the name of whoever did it."),
            ops.TEAM,
            ops.day("since", "From this day on, in the asker's zone."),
            ops.day("until", "Up to this day, in the asker's zone."),
            ops.text("thing", "Only of one thing, such as request:7."),
        ),
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        access, names = access_of(request._request), teams.team_names()
        ids = access.teams(OVERSEE)
        own = [(number, name) for number, name in names.items() if ids is None or number in ids]
        form = TrailFilter(request.query_params, teams=own)
        if not form.is_valid():
            faults = {name: " ".join(map(str, said)) for name, said in form.errors.items()}
            raise Invalid(next(iter(faults.values())), fields=faults)
        rows = form.narrow(trail.query_trail(access), zone=timezone.get_current_timezone_name())
        paging = Paging()
        found: list[AuditEvent] = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response([_line(row) for row in found])


def _line(row: AuditEvent) -> dict[str, object]:
    return {
        "id": row.pk, "at": row.at, "actor": row.actor_id, "action": row.action,
        "target": {"type": row.target_type, "id": row.target_id}, "team": row.team_id,
        "data": row.data, "request_id": row.request_id, "previous_hash": row.previous_hash,
        "hash": row.hash,
    }  # fmt: skip
