"""Budgets, the forecast to the month's end, and whether money is shown."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, once
from portal.common.api_shapes import page
from portal.finance import presenting, schemas, selectors, services
from portal.finance.api import common
from portal.finance.api.common import Strict
from portal.finance.models import BudgetPeriod
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import COST


class BudgetSerializer(Strict):
    """A limit for a team, in money or in GPU-time."""

    team = serializers.IntegerField()
    period = serializers.ChoiceField(choices=BudgetPeriod.choices)
    amount_micro = serializers.IntegerField(required=False, allow_null=True, default=None)
    gpu_milli_seconds = serializers.IntegerField(required=False, allow_null=True, default=None)
    refuses = serializers.BooleanField(default=False)


class BudgetListView(APIView):
    """Budgets that hold now, of the teams the asker sees the cost of."""

    @ops.operation(page(schemas.BUDGET))
    def get(self, request: Request) -> Response:
        """Each with what is spent, booked and expected in its running period."""
        rows = selectors.list_budgets(now=clock.now(), access=access_of(request._request))
        return common.page(self, request, rows, presenting.budget)

    @ops.operation(schemas.BUDGET, body=BudgetSerializer, status=201)
    def post(self, request: Request) -> Response:
        """A budget from now on; the team's one before it ends."""

        def act() -> Response:
            given = BudgetSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            said = dict(given.validated_data)
            now = clock.now()
            made = services.set_budget(
                team_id=said.pop("team"), **said, actor_id=common.who(request), now=now
            )
            rows = {row.id: row for row in selectors.list_budgets(now=now)}
            return Response(presenting.budget(rows[made.pk]), status=CREATED)

        return once(request, act)


class BudgetEndView(APIView):
    """A budget ends now."""

    @ops.operation(schemas.ENDED)
    def post(self, request: Request, budget_id: int) -> Response:
        """No body."""

        def act() -> Response:
            services.end_budget(budget_id=budget_id, actor_id=common.who(request), now=clock.now())
            return Response({"id": budget_id, "ended": True})

        return once(request, act)


class ForecastListView(APIView):
    """What the running month is expected to cost each team."""

    @ops.operation(page(schemas.COST_FORECAST))
    def get(self, request: Request) -> Response:
        """So far, booked, and what the last seven days averaged; low and high of the whole."""
        now = clock.now()
        reach = access_of(request._request).teams(COST)
        ids = [row.id for row in teams.get_tree(now=now).rows if reach is None or row.id in reach]
        found = selectors.forecast(now=now, team_ids=ids)
        return common.page(self, request, list(found.values()), presenting.forecast)


class PresentationSerializer(Strict):
    """Whether amounts are shown."""

    shows_money = serializers.BooleanField()


class PresentationView(APIView):
    """Whether money is shown, or GPU-hours only."""

    @ops.operation(schemas.PRESENTATION)
    def get(self, request: Request) -> Response:
        """As it is."""
        return Response({"shows_money": selectors.shows_money()})

    @ops.operation(schemas.PRESENTATION, body=PresentationSerializer)
    def post(self, request: Request) -> Response:
        """Set it for everybody."""

        def act() -> Response:
            given = PresentationSerializer(data=request.data)
            given.is_valid(raise_exception=True)
            services.show_money(
                shows=given.validated_data["shows_money"], actor_id=common.who(request),
                now=clock.now(),
            )  # fmt: skip
            return Response({"shows_money": selectors.shows_money()})

        return once(request, act)
