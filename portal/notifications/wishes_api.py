"""How one wants to be told, and which programs are told."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, once
from portal.common.api_bodies import Strict, an_id, read
from portal.common.api_shapes import DONE, page
from portal.common.errors import Missing
from portal.notifications import schemas, selectors, services
from portal.notifications.kinds import BY_NAME
from portal.notifications.models import Hook, Mailing
from portal.teams import selectors as teams


class WishesView(APIView):
    """When each kind of news is sent to one by e-mail; the inbox has it in any case."""

    @ops.operation(schemas.WISHES)
    def get(self, request: Request) -> Response:
        """Every kind."""
        return Response(_wishes(request))

    @ops.operation(schemas.WISHES, body=schemas.WISHES_BODY)
    def put(self, request: Request) -> Response:
        """Change any of them; what is left out stays as it is."""

        def act() -> Response:
            services.set_preferences(
                user_id=int(request.user.pk or 0), mailing=_chosen(request.data)
            )
            return Response(_wishes(request))

        return once(request, act)


class HookBody(Strict):
    """A program or a chat to tell; `kinds` left out are all, `team` null the organisation."""

    name = serializers.CharField(max_length=80)
    way = serializers.ChoiceField(choices=Hook.Way.choices)
    address = serializers.CharField(max_length=1000)
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=sorted(BY_NAME)),
        default=list,
        max_length=len(BY_NAME),
    )
    team = an_id(allow_null=True, default=None)


class HookListView(APIView):
    """Programs and chats that are told; a POST adds one."""

    @ops.operation(page(schemas.HOOK))
    def get(self, request: Request) -> Response:
        """By name; of an address only what holds no key."""
        paging = Paging()
        found = paging.paginate_queryset(selectors.list_hooks(), request, view=self) or []
        return paging.get_paginated_response(
            [
                {
                    "id": row.id, "name": row.name, "way": row.way, "where": row.where,
                    "kinds": list(row.kinds), "team": row.team_id, "waiting": row.waiting,
                    "last_sent_at": row.last_sent_at, "error": row.error or None,
                }
                for row in found
            ]
        )  # fmt: skip

    @ops.operation(schemas.HOOK_ADDED, body=HookBody, status=201)
    def post(self, request: Request) -> Response:
        """The secret that signs is shown this once: a repeat under the same key has null there."""

        def act() -> Response:
            body = read(HookBody, request.data)
            team_id = body["team"]
            if team_id is not None and team_id not in teams.team_names():
                raise Missing
            secret = services.add_hook(
                name=body["name"], way=body["way"], address=body["address"].strip(),
                kinds=body["kinds"], team_id=team_id, actor_id=request.user.pk,
                real_now=clock.real_now(),
            )  # fmt: skip
            return Response({"name": body["name"], "secret": secret or None}, status=CREATED)

        return once(request, act, unkept="secret")


class HookRetireView(APIView):
    """A program or a chat is told no more."""

    @ops.operation(DONE)
    def post(self, request: Request, hook_id: int) -> Response:
        """No body; a repeat changes nothing."""

        def act() -> Response:
            services.retire_hook(
                hook_id=hook_id, actor_id=request.user.pk, real_now=clock.real_now()
            )
            return Response({"id": hook_id})

        return once(request, act)


def _chosen(data: object) -> dict[str, str]:
    fields = {
        name: serializers.ChoiceField(choices=Mailing.choices, required=False) for name in BY_NAME
    }
    return read(type("WishesBody", (Strict,), fields), data)


def _wishes(request: Request) -> dict[str, str]:
    found = selectors.list_wishes(user_id=int(request.user.pk or 0))
    return {kind.name: mailing for kind, mailing in found}
