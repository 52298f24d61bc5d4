"""Rate cards."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, once
from portal.common.api_shapes import page
from portal.finance import months, presenting, schemas, selectors, services
from portal.finance.api import common
from portal.finance.api.common import Strict
from portal.finance.models import IdleRule
from portal.finance.services import NewRate


class RateSerializer(Strict):
    """The price of a pool, or of a GPU model's pools, in micro-units a GPU-hour.

    Multipliers are in thousandths.
    """

    pool = serializers.IntegerField(required=False, allow_null=True, default=None)
    gpu_model = serializers.IntegerField(required=False, allow_null=True, default=None)
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
        if "valid_from" in self.initial_data and not common.has_offset(
            self.initial_data["valid_from"]
        ):
            raise serializers.ValidationError(
                _("Give a time with its offset, such as 2026-11-02T09:00:00+09:00.")
            )
        return value


class PreviewSerializer(Strict):
    """A card that is only proposed, and the month to compare with."""

    month = serializers.CharField()
    name = serializers.CharField(max_length=80, default="Proposed")
    currency = serializers.CharField()
    tax_basis_points = serializers.IntegerField(default=0)
    idle_rule = serializers.ChoiceField(choices=IdleRule.choices, default=IdleRule.OWN_LINE)
    rates = RateSerializer(many=True)


class PreviewView(APIView):
    """What a month would have cost at other prices; nothing is set."""

    @ops.operation(schemas.PREVIEW, body=PreviewSerializer, looks=True)
    def post(self, request: Request) -> Response:
        """`month` such as 2026-11, and the card as when setting it."""
        given = PreviewSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        said = dict(given.validated_data)
        instant = months.parse(said.pop("month"))
        terms = services.propose(**said | {"rates": _rates(said["rates"])})
        found = selectors.preview_rates(instant=instant, terms=terms, now=clock.now())
        return Response(presenting.preview(found))


class RateCardListView(APIView):
    """Rate cards, newest first; a new one closes the open one."""

    @ops.operation(page(schemas.RATE_CARD))
    def get(self, request: Request) -> Response:
        """Each with its rates; nobody edits a card, so there is no version."""
        return common.page(self, request, selectors.list_rate_cards(), presenting.rate_card)

    @ops.operation(schemas.RATE_CARD, body=RateCardSerializer, status=201)
    def post(self, request: Request) -> Response:
        """The next card."""

        def act() -> Response:
            given = RateCardSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            said = dict(given.validated_data)
            rates = _rates(said.pop("rates"))
            card = services.set_rate_card(
                **said, rates=rates, actor_id=common.who(request), now=clock.now()
            )
            rows = {row.id: row for row in selectors.list_rate_cards()}
            return Response(presenting.rate_card(rows[card.pk]), status=CREATED)

        return once(request, act)


def _rates(given: list[dict[str, Any]]) -> list[NewRate]:
    return [
        NewRate(pool_id=rate.pop("pool"), gpu_model_id=rate.pop("gpu_model"), **rate)
        for rate in given
    ]
