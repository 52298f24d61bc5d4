"""Months, closing them, and whether they add up."""

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import once
from portal.common.api_shapes import page
from portal.common.errors import Invalid
from portal.finance import downloads, months, presenting, schemas, selectors, services
from portal.finance.api import common
from portal.finance.api.common import CsvRenderer


class MonthListView(APIView):
    """Months that have statements, newest first."""

    @ops.operation(page(schemas.MONTH))
    def get(self, request: Request) -> Response:
        """Each with its state and as-of."""
        return common.page(self, request, selectors.list_months(), presenting.month)


class CloseView(APIView):
    """A month is closed: its statements become final."""

    @ops.operation(schemas.MONTH)
    def post(self, request: Request, month: str) -> Response:
        """No body. Closing a closed month answers the same and changes nothing."""

        def act() -> Response:
            services.close_month(
                month_start=months.parse(month), actor_id=common.who(request), now=clock.now()
            )
            return Response(presenting.month(selectors.get_month(instant=months.parse(month))))

        return once(request, act)


class FocusView(APIView):
    """All statements of a month in the columns of FOCUS 1.2."""

    renderer_classes = [CsvRenderer, JSONRenderer]

    @ops.download("text/csv")
    def get(self, request: Request, month: str) -> HttpResponseBase:
        """The organisation's own part among them."""
        return downloads.month_focus(month)


class ReconciliationView(APIView):
    """Whether a month adds up, in GPU-time and in money."""

    @ops.operation(
        schemas.RECONCILIATION,
        query=(ops.text("month", "Such as 2026-11; by default the one under way."),),
    )
    def get(self, request: Request) -> Response:
        """Of `month`, by default the one under way."""
        name = request.query_params.get("month", "")
        instant = months.parse(name) if name else clock.now()
        found = selectors.get_reconciliation(instant=instant)
        if found is None:
            raise Invalid(_("Nothing has been computed for this month yet."), code="not_computed")
        return Response(common.shown(presenting.reconciliation(found)))
