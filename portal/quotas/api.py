"""Who is guaranteed what: figures of whole teams, open to the organisation."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, once
from portal.common.api_shapes import page
from portal.inventory import parameters
from portal.inventory.calendar import FOREVER
from portal.quotas import bounds, orders, schemas, selectors, services
from portal.quotas.selectors import QuotaRow
from portal.teams import selectors as teams
from portal.teams.middleware import access_of


class QuotaListView(APIView):
    """Quotas that hold at an instant; a POST sets a pool's figures, for those who decide."""

    @ops.operation(
        page(schemas.QUOTA),
        query=(ops.TEAM, ops.POOL, ops.instant("at", "The instant they hold at; by default now.")),
    )
    def get(self, request: Request) -> Response:
        """Filter by `team` and `pool`; `at` is an instant with its offset, by default now."""
        team_id = parameters.whole(request, "team")
        rows = selectors.query_quotas(
            at=parameters.instant(request, "at") or clock.now(),
            pool_id=parameters.whole(request, "pool"),
            team_ids=None if team_id is None else [team_id],
        )
        names = teams.team_names()
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response(
            [_quota(selectors.row_of(row), names) for row in page or []]
        )

    @ops.operation(schemas.QUOTAS, body=orders.QuotaChangeBody, status=201)
    def post(self, request: Request) -> Response:
        """Set figures of teams in a pool, all or none.

        `pool`, `valid_from` (default: now) and `changes`: per team all its figures, those left out
        are not set; with `seen`, the newest change one has read, it loses to a later one.
        """

        def act() -> Response:
            order = orders.read(request.data, access=access_of(request._request), now=clock.now())
            saved = services.change_all(
                pool_id=order.pool_id, wanted=order.wanted, actor_id=request.user.pk,
                valid_from=order.valid_from, now=order.now,
            )  # fmt: skip
            names = teams.team_names()
            rows = [_quota(selectors.row_of(row), names) for row in saved]
            return Response({"results": rows}, status=CREATED)

        return once(request, act)


class QuotaHistoryView(APIView):
    """What a team had, has and will have in a pool."""

    @ops.operation(page(schemas.QUOTA))
    def get(self, request: Request, team_id: int, pool_id: int) -> Response:
        """All figures by date, the oldest first."""
        names = teams.team_names()
        rows = selectors.list_history(team_id=team_id, pool_id=pool_id)
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_quota(row, names) for row in page or []])


class OverLimitListView(APIView):
    """Branches that are promised more than their limit, from now on."""

    @ops.operation(page(schemas.OVER_LIMIT))
    def get(self, request: Request) -> Response:
        """By pool, team and time."""
        names, rows = teams.team_names(), bounds.list_over_limit(now=clock.now())
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response(
            [
                {
                    "team": {"id": b.team_id, "name": names.get(b.team_id, "")},
                    "pool": b.pool_id, "from": b.from_at,
                    "to": b.to_at if b.to_at < FOREVER else None, "limit": b.limit,
                    "guaranteed": b.guaranteed, "reserved": b.reserved,
                }
                for b in page or []
            ]
        )  # fmt: skip


class QuotaUndoView(APIView):
    """The newest change of a team's figures in a pool is taken back."""

    @ops.operation(schemas.QUOTAS)
    def post(self, request: Request, quota_id: int) -> Response:
        """No body; the figures from before hold again."""

        def act() -> Response:
            now = clock.now()
            rows = services.undo(quota_id=quota_id, actor_id=request.user.pk, now=now)
            names = teams.team_names()
            return Response({"results": [_quota(selectors.row_of(r), names) for r in rows]})

        return once(request, act)


def _quota(row: QuotaRow, names: dict[int, str]) -> dict[str, object]:
    return {
        "id": row.id, "team": {"id": row.team_id, "name": names.get(row.team_id, "")},
        "pool": row.pool_id, "guaranteed": row.guaranteed, "limit": row.limit,
        "borrowing_limit": row.borrowing_limit, "lending_limit": row.lending_limit,
        "weight": row.weight, "per_user_limit": row.per_user_limit,
        "valid_from": row.valid_from, "valid_to": row.valid_to, "request": row.request_id,
    }  # fmt: skip
