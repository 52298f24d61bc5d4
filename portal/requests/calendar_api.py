"""What the pages of calendars and of maintenance do besides, under /api/v1."""

from typing import Any, cast

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, once
from portal.common.api_shapes import DONE, page
from portal.inventory import sent
from portal.requests import conflicts, schemas
from portal.requests.conflicts import Work
from portal.reservations import feeds
from portal.reservations.models import CalendarFeed


class _FeedBody(sent.Strict):
    name = serializers.CharField(max_length=60)


class _WorkBody(sent.Strict):
    nodes = serializers.ListField(child=sent.an_id(), min_length=1, max_length=1000)
    starts_at = sent.Instant()
    ends_at = sent.Instant()
    drain_from = sent.Instant(default=None, allow_null=True)


class FeedListView(APIView):
    """The addresses under which a team's calendar is read by other programs."""

    @ops.operation(page(schemas.FEED))
    def get(self, request: Request, team_id: int) -> Response:
        """Those that are not revoked, the newest first; the address is shown only when made."""
        paging = Paging()
        found = paging.paginate_queryset(feeds.list_feeds(team_id=team_id), request, view=self)
        return paging.get_paginated_response([_feed(row) for row in found or []])

    @ops.operation(schemas.NEW_FEED, body=_FeedBody, status=201)
    def post(self, request: Request, team_id: int) -> Response:
        """`name` says whose or what it is for.

        The address is in the first answer only: whoever has it reads the calendar, so it is kept
        nowhere, and an answer repeated for its Idempotency-Key is without it.
        """
        tokens: list[str] = []

        def act() -> Response:
            body = sent.read(_FeedBody, request.data)
            feed, token = feeds.open_feed(
                team_id=team_id, name=body["name"], actor_id=_who(request), now=clock.now()
            )
            tokens.append(token)
            return Response(_feed(feed), status=CREATED)

        answer = once(request, act)
        for token in tokens:
            path = reverse("requests:calendar", args=[token])
            answer.data = {**answer.data, "address": request.build_absolute_uri(path)}
        return answer


class FeedRevokeView(APIView):
    """An address leads nowhere any more."""

    @ops.operation(DONE)
    def post(self, request: Request, feed_id: int) -> Response:
        """No body; twice is once."""

        def act() -> Response:
            feeds.revoke_feed(feed_id=feed_id, actor_id=_who(request), now=clock.now())
            return Response({"id": feed_id})

        return once(request, act)


class WorkEffectsView(APIView):
    """What work on some nodes would no longer leave room for; nothing is planned."""

    @ops.operation(schemas.WORK_EFFECTS, body=_WorkBody, looks=True)
    def post(self, request: Request) -> Response:
        """Refused as planning it would be; else the conflicts it would make beside those there are."""
        now = clock.now()
        work = Work(**sent.read(_WorkBody, request.data))
        made = conflicts.made_by(work, now=now)
        return Response(
            {
                "conflicts": [
                    {
                        "pool": {"id": row.pool_id, "name": row.pool_name},
                        "from": row.from_at, "to": row.to_at, "short": row.short,
                        "sentence": conflicts.in_words(row, now),
                    }
                    for row in made
                ]
            }
        )  # fmt: skip


def _feed(row: CalendarFeed) -> dict[str, Any]:
    return {
        "id": row.pk, "team": row.team_id, "name": row.name, "created_by": row.created_by_id,
        "created_at": row.created_at,
    }  # fmt: skip


def _who(request: Request) -> int:
    return cast(int, request.user.pk)
