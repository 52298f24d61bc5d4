"""The calendar's blocks, open to the organisation; what for and who, to those of the branch."""

from datetime import datetime

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, once
from portal.common.api_shapes import page
from portal.inventory import parameters
from portal.reservations import schemas, selectors, services
from portal.reservations.models import ReservationState
from portal.reservations.selectors import ReservationRow
from portal.teams import permissions
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.selectors import Access


class ReservationListView(APIView):
    """Reservations, the latest start first; a new one is asked for by a request."""

    @ops.operation(
        page(schemas.RESERVATION),
        query=(
            ops.TEAM,
            ops.POOL,
            ops.word("state", ReservationState.values, "Only in this state."),
            ops.FROM,
            ops.TO,
        ),
    )
    def get(self, request: Request) -> Response:
        """Filter by `team`, `pool`, `state`, and `from` and `to` with their offsets."""
        rows = selectors.query_reservations(
            pool_id=parameters.whole(request, "pool"),
            team_id=parameters.whole(request, "team"),
            state=parameters.one_of(request, "state", ReservationState.values),
            from_at=parameters.instant(request, "from"),
            to_at=parameters.instant(request, "to"),
        )
        names, access = teams.team_names(), access_of(request._request)
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        found = [selectors.row_of(row) for row in page or []]
        return paging.get_paginated_response([_shown(row, access, names) for row in found])


class ReservationDetailView(APIView):
    """One reservation."""

    @ops.operation(schemas.RESERVATION)
    def get(self, request: Request, reservation_id: int) -> Response:
        """As it stands now."""
        return _answer(request, reservation_id)


class CancelView(APIView):
    """A reservation that has not begun is called off."""

    @ops.operation(schemas.RESERVATION)
    def post(self, request: Request, reservation_id: int) -> Response:
        """For leads and admins of its team."""

        def act() -> Response:
            services.cancel(
                reservation_id=reservation_id, actor_id=request.user.pk, now=clock.now()
            )
            return _answer(request, reservation_id)

        return once(request, act)


class GiveBackView(APIView):
    """A reservation that is open ends now."""

    @ops.operation(schemas.RESERVATION)
    def post(self, request: Request, reservation_id: int) -> Response:
        """For leads and admins of its team."""

        def act() -> Response:
            services.give_back(
                reservation_id=reservation_id, actor_id=request.user.pk, now=clock.now()
            )
            return _answer(request, reservation_id)

        return once(request, act)


def _answer(request: Request, reservation_id: int) -> Response:
    row = selectors.get_reservation(reservation_id=reservation_id)
    return Response(_shown(row, access_of(request._request), teams.team_names()))


def _shown(row: ReservationRow, access: Access, names: dict[int, str]) -> dict[str, object]:
    """What the asker may see: purpose and person only with a role in the team's branch."""
    shown: dict[str, object] = {
        "id": row.id, "team": {"id": row.team_id, "name": names.get(row.team_id, "")},
        "pool": row.pool_id, "gpus": row.gpus, "gpus_per_node": row.gpus_per_node,
        "source": row.source, "starts_at": _text(row.starts_at), "ends_at": _text(row.ends_at),
        "planned_ends_at": _text(row.planned_ends_at), "zone": row.zone, "state": row.state,
        "request": row.request_id, "created_at": _text(row.created_at),
    }  # fmt: skip
    if access.holds(permissions.WORK, team_id=row.team_id):
        shown |= {"purpose": row.purpose, "created_by": row.created_by_id}
    return shown


def _text(at: datetime) -> str:
    """Spelled the same in a first answer and in one remembered for its Idempotency-Key."""
    return at.isoformat().replace("+00:00", "Z")
