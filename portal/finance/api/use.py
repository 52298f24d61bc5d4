"""What was lost, and what a completed job costs."""

from datetime import timedelta

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api_shapes import page
from portal.finance import presenting, schemas, selectors
from portal.finance.api import common
from portal.inventory import parameters
from portal.inventory.calendar import Period
from portal.teams.middleware import access_of
from portal.teams.permissions import COST

MONTH = timedelta(days=31)
LONGEST = timedelta(days=400)


class LostListView(APIView):
    """GPU-time that came to nothing, by team and cause."""

    @ops.operation(page(schemas.LOST), query=(ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """`from` and `to` bound when it ended, by default the last 31 days."""
        period = _period(request)
        rows = selectors.list_lost(
            from_at=period.from_at, to_at=period.to_at,
            team_ids=access_of(request._request).teams(COST),
        )  # fmt: skip
        return common.page(self, request, rows, presenting.lost)


class JobCostListView(APIView):
    """Cost per completed job, by team and class."""

    @ops.operation(page(schemas.JOB_COST), query=(ops.FROM, ops.TO))
    def get(self, request: Request) -> Response:
        """`from` and `to` bound when the jobs ended, by default the last 31 days."""
        period = _period(request)
        found = selectors.list_job_costs(
            from_at=period.from_at, to_at=period.to_at,
            team_ids=access_of(request._request).teams(COST),
        )  # fmt: skip
        return common.page(
            self, request, list(found.rows), lambda row: presenting.job_cost(row, found.currency)
        )


def _period(request: Request) -> Period:
    from_at = parameters.instant(request, "from") or clock.now() - MONTH
    return parameters.window(request, now=from_at, default=MONTH, longest=LONGEST)
