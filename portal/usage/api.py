"""What was used: sums of the ledger over a period."""

from datetime import timedelta

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import clock
from portal.common.api import Paging
from portal.inventory import parameters
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import ANY_ROLE
from portal.usage import selectors
from portal.usage.selectors import UsageSum

MONTH = timedelta(days=31)
LONGEST = timedelta(days=400)


class UsageListView(APIView):
    """GPU-seconds by team, pool and charge, of the teams the asker has a role in."""

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


def _sum(row: UsageSum, names: dict[int, str]) -> dict[str, object]:
    """`team` null is work in namespaces of no team."""
    team = None if row.team_id is None else {"id": row.team_id, "name": names.get(row.team_id, "")}
    return {
        "team": team, "pool": row.pool_id, "charged_to": row.charged_to,
        "gpu_milli_seconds": row.gpu_milli_seconds,
    }  # fmt: skip
