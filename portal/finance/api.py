"""Months, statements, rate cards and the reconciliation at /api/v1."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import clock, csv
from portal.common.api import CREATED, Paging, check_if_match, etag, once
from portal.common.errors import Invalid
from portal.finance import exports, months, presenting, selectors, services
from portal.finance.models import IdleRule
from portal.finance.services import NewRate
from portal.inventory import parameters
from portal.teams.middleware import access_of
from portal.teams.models import User


class CsvRenderer(BaseRenderer):
    """Lets a client ask for CSV by its Accept header; the view answers with the stream itself."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """Only faults come here."""
        return JSONRenderer().render(data)


class MonthListView(APIView):
    """Months that have statements, newest first."""

    def get(self, request: Request) -> Response:
        """Each with its state and as-of."""
        return _page(self, request, selectors.list_months(), presenting.month)


class CloseView(APIView):
    """A month is closed: its statements become final."""

    def post(self, request: Request, month: str) -> Response:
        """No body. Closing a closed month answers the same and changes nothing."""

        def act() -> Response:
            services.close_month(
                month_start=months.parse(month), actor_id=_who(request), now=clock.now()
            )
            return Response(presenting.month(selectors.get_month(instant=months.parse(month))))

        return once(request, act)


class StatementListView(APIView):
    """Statements the asker may see, newest month first."""

    def get(self, request: Request) -> Response:
        """Filter by `month` (2026-11) and `team`."""
        name = request.query_params.get("month", "")
        month_id: int | None = None
        if name:
            month_id = selectors.get_month(instant=months.parse(name)).id or 0
        rows = selectors.list_statements(
            access_of(request._request),
            month_id=month_id,
            team_id=parameters.whole(request, "team"),
        )
        return _page(self, request, rows, presenting.statement)


class StatementDetailView(APIView):
    """One statement with its lines, as JSON or, by the Accept header, as CSV."""

    renderer_classes = [JSONRenderer, CsvRenderer]

    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """As it stands; the ETag is its version."""
        detail = selectors.get_statement(statement_id=statement_id)
        if request.accepted_renderer.format == "csv":
            return _csv(detail)
        response = Response(presenting.detail(detail))
        response["ETag"] = etag(detail.statement.version)
        return response


class StatementCsvView(APIView):
    """One statement's lines as CSV."""

    renderer_classes = [CsvRenderer, JSONRenderer]

    def get(self, request: Request, statement_id: int) -> HttpResponseBase:
        """Words that never change, figures that are exact."""
        return _csv(selectors.get_statement(statement_id=statement_id))


class PaidView(APIView):
    """A final statement has been paid."""

    def post(self, request: Request, statement_id: int) -> Response:
        """No body; If-Match with the version one saw. A repeat answers the same."""

        def act() -> Response:
            before = selectors.get_statement(statement_id=statement_id)
            check_if_match(request, before.statement.version)
            services.mark_paid(statement_id=statement_id, actor_id=_who(request), now=clock.now())
            detail = selectors.get_statement(statement_id=statement_id)
            response = Response(presenting.detail(detail))
            response["ETag"] = etag(detail.statement.version)
            return response

        return once(request, act)


class Strict(serializers.Serializer[object]):
    """Refuses what it does not know, so that a slip of the pen is no default."""

    def to_internal_value(self, data: Any) -> Any:
        """The known fields."""
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            say = _("This cannot be set.")
            raise serializers.ValidationError({name: [say] for name in unknown})
        return super().to_internal_value(data)


class RateSerializer(Strict):
    """One pool's price in micro-units a GPU-hour, its multipliers in thousandths."""

    pool = serializers.IntegerField()
    gpu_hour_micro = serializers.IntegerField()
    guaranteed_milli = serializers.IntegerField(default=1000)
    reserved_milli = serializers.IntegerField(default=1000)
    borrowed_milli = serializers.IntegerField(default=1000)
    reserved_unused_milli = serializers.IntegerField(default=1000)


class RateCardSerializer(Strict):
    """A card as it is set."""

    name = serializers.CharField(max_length=80)
    currency = serializers.CharField()
    tax_basis_points = serializers.IntegerField(default=0)
    idle_rule = serializers.ChoiceField(choices=IdleRule.choices, default=IdleRule.OWN_LINE)
    valid_from = serializers.DateTimeField()
    rates = RateSerializer(many=True)

    def validate_valid_from(self, value: datetime) -> datetime:
        """A time of its own, with its offset."""
        if "valid_from" in self.initial_data and not _has_offset(self.initial_data["valid_from"]):
            raise serializers.ValidationError(
                _("Give a time with its offset, such as 2026-11-02T09:00:00+09:00.")
            )
        return value


class RateCardListView(APIView):
    """Rate cards, newest first; a new one closes the open one."""

    def get(self, request: Request) -> Response:
        """Each with its rates; nobody edits a card, so there is no version."""
        return _page(self, request, selectors.list_rate_cards(), presenting.rate_card)

    def post(self, request: Request) -> Response:
        """The next card."""

        def act() -> Response:
            given = RateCardSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            said = dict(given.validated_data)
            rates = [NewRate(pool_id=rate.pop("pool"), **rate) for rate in said.pop("rates")]
            card = services.set_rate_card(
                **said, rates=rates, actor_id=_who(request), now=clock.now()
            )
            rows = {row.id: row for row in selectors.list_rate_cards()}
            return Response(presenting.rate_card(rows[card.pk]), status=CREATED)

        return once(request, act)


class ReconciliationView(APIView):
    """Whether a month adds up, in GPU-time and in money."""

    def get(self, request: Request) -> Response:
        """Of `month`, by default the one under way."""
        name = request.query_params.get("month", "")
        instant = months.parse(name) if name else clock.now()
        found = selectors.get_reconciliation(instant=instant)
        if found is None:
            raise Invalid(_("Nothing has been computed for this month yet."), code="not_computed")
        return Response(presenting.reconciliation(found))


def _page(
    view: APIView,
    request: Request,
    rows: list[Any],
    present: Callable[[Any], dict[str, object]],
) -> Response:
    paging = Paging()
    page = paging.paginate_queryset(rows, request, view=view)
    return paging.get_paginated_response([present(row) for row in page or []])


def _csv(detail: selectors.StatementDetail) -> HttpResponseBase:
    statement = detail.statement
    name = f"statement-{statement.month}-{statement.id}"
    response = csv.response(name, exports.for_programs(detail))
    response["ETag"] = etag(statement.version)
    return response


def _has_offset(text: object) -> bool:
    value = str(text)
    return value.endswith("Z") or "+" in value[10:] or "-" in value[10:]


def _who(request: Request) -> int | None:
    return request.user.pk if isinstance(request.user, User) else None
