"""Who is guaranteed what: figures of whole teams, open to the organisation."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import clock
from portal.common.api import Paging
from portal.inventory import parameters
from portal.quotas import selectors
from portal.quotas.selectors import QuotaRow
from portal.teams import selectors as teams


class QuotaListView(APIView):
    """Quotas that hold at an instant; a change is asked for by a request."""

    def get(self, request: Request) -> Response:
        """Filter by `team` and `pool`; `at` is an instant with its offset, by default now."""
        team_id = parameters.whole(request, "team")
        rows = selectors.list_quotas(
            at=parameters.instant(request, "at") or clock.now(),
            pool_id=parameters.whole(request, "pool"),
            team_ids=None if team_id is None else [team_id],
        )
        names = teams.team_names()
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response([_quota(row, names) for row in page or []])


def _quota(row: QuotaRow, names: dict[int, str]) -> dict[str, object]:
    return {
        "id": row.id, "team": {"id": row.team_id, "name": names.get(row.team_id, "")},
        "pool": row.pool_id, "guaranteed": row.guaranteed, "limit": row.limit,
        "borrowing_limit": row.borrowing_limit, "lending_limit": row.lending_limit,
        "weight": row.weight, "per_user_limit": row.per_user_limit,
        "valid_from": row.valid_from, "valid_to": row.valid_to, "request": row.request_id,
    }  # fmt: skip
