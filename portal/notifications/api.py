"""One's news for programs."""

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, once
from portal.common.api_shapes import page
from portal.common.errors import Invalid
from portal.notifications import schemas, selectors, services, words
from portal.notifications.models import Notification
from portal.teams import selectors as teams
from portal.teams.models import User


class NewsListView(APIView):
    """The asker's own news, newest first; `unread=true` narrows."""

    @ops.operation(
        page(schemas.NEWS),
        query=(
            ops.word("unread", ["true", "false"], "Only what is not read."),
            ops.text("kind", "Only of this kind."),
        ),
    )
    def get(self, request: Request) -> Response:
        """One page."""
        rows = selectors.query_inbox(
            user_id=int(request.user.pk or 0),
            unread=_is_unread(request.query_params.get("unread", "false")),
            kind=request.query_params.get("kind", ""),
        )
        paging = Paging()
        page: list[Notification] = paging.paginate_queryset(rows, request, view=self) or []
        actors = {row.actor_id for row in page if row.actor_id}
        people = {user.pk: str(user) for user in User.objects.filter(pk__in=actors)}
        names = teams.team_names()
        return paging.get_paginated_response(
            [
                {
                    "id": row.pk, "at": row.at, "kind": row.kind, "action": row.action,
                    "text": words.sentence(row, people=people, teams=names),
                    "target": {"type": row.target_type, "id": row.target_id},
                    "team": row.team_id, "read_at": row.read_at,
                }
                for row in page
            ]
        )  # fmt: skip


def _is_unread(word: str) -> bool:
    if word not in ("true", "false"):
        say = _("Give one of: %(words)s.") % {"words": "true, false"}
        raise Invalid(_("The address has faults."), fields={"unread": say})
    return word == "true"


class ReadBody(serializers.Serializer[object]):
    """Which news was read; none named: all."""

    id = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class NewsReadView(APIView):
    """Marks news as read."""

    @ops.operation(schemas.UNREAD, body=ReadBody)
    def post(self, request: Request) -> Response:
        """Mark one's own; a repeat changes nothing."""

        def act() -> Response:
            body = ReadBody(data=request.data)
            body.is_valid(raise_exception=True)
            user_id = int(request.user.pk or 0)
            services.mark_read(
                user_id=user_id, notification_id=body.validated_data.get("id"),
                real_now=clock.real_now(),
            )  # fmt: skip
            return Response({"unread": selectors.count_unread(user_id=user_id)})

        return once(request, act)
