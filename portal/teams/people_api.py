"""People, their roles and invitations: what the page People does, for the same people."""

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
from portal.teams import inviting, schemas, selectors
from portal.teams.middleware import access_of
from portal.teams.models import Role
from portal.teams.permissions import ASK


class PersonListView(APIView):
    """People who hold a role in one's branches, with the roles they hold there."""

    @ops.operation(page(schemas.PERSON), query=(ops.text("q", "Words of a name."),))
    def get(self, request: Request) -> Response:
        """By name."""
        ids = access_of(request._request).teams(ASK)
        words = request.query_params.get("q", "").replace("\x00", "")[:100]
        paging = Paging()
        rows = selectors.query_people(team_ids=ids, words=words)
        found = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response(
            [
                {
                    "id": person.id, "username": person.username, "name": person.name,
                    "is_active": person.is_active, "last_sign_in": person.last_login,
                    "roles": [
                        {"id": held.assignment_id, "role": held.role, "team": held.team_id}
                        for held in person.roles
                    ],
                }
                for person in selectors.list_people(found, team_ids=ids)
            ]
        )  # fmt: skip


class RoleBody(Strict):
    """Who is to hold which role; `team` null is the whole organisation."""

    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(choices=Role.choices)
    team = an_id(allow_null=True, default=None)


class RoleGrantView(APIView):
    """Somebody who has an account is given a role."""

    @ops.operation(schemas.ROLE_GIVEN, body=RoleBody, status=201)
    def post(self, request: Request) -> Response:
        """Twice is once."""

        def act() -> Response:
            body = read(RoleBody, request.data)
            inviting.grant(
                access=access_of(request._request), username=body["username"],
                role=Role(body["role"]), team_id=_team(body["team"]), now=clock.now(),
            )  # fmt: skip
            return Response(body, status=CREATED)

        return once(request, act)


class RoleRevokeView(APIView):
    """A role is taken back."""

    @ops.operation(DONE)
    def post(self, request: Request, assignment_id: int) -> Response:
        """No body; the organisation keeps its last admin."""

        def act() -> Response:
            inviting.revoke(access=access_of(request._request), assignment_id=assignment_id)
            return Response({"id": assignment_id})

        return once(request, act)


class InviteBody(Strict):
    """Who is invited to which role; `team` null is the whole organisation."""

    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(choices=Role.choices)
    team = an_id(allow_null=True, default=None)


class InvitationListView(APIView):
    """Invitations still open in one's branches; a POST makes another."""

    @ops.operation(page(schemas.INVITATION))
    def get(self, request: Request) -> Response:
        """The newest first."""
        rows = selectors.list_invitations(
            team_ids=access_of(request._request).teams(ASK), real_now=clock.real_now()
        )
        paging = Paging()
        found = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response(
            [
                {
                    "id": row.pk, "email": row.email, "role": row.role, "team": row.team_id,
                    "expires_at": row.expires_at,
                }
                for row in found
            ]
        )  # fmt: skip

    @ops.operation(schemas.INVITED, body=InviteBody, status=201)
    def post(self, request: Request) -> Response:
        """The link is mailed, and shown this once: a repeat under the same key has null there."""

        def act() -> Response:
            body = read(InviteBody, request.data)
            made = inviting.invite(
                access=access_of(request._request), email=body["email"], role=Role(body["role"]),
                team_id=_team(body["team"]), real_now=clock.real_now(),
            )  # fmt: skip
            return Response({"id": made.id, **body, "link": made.link}, status=CREATED)

        return once(request, act, unkept="link")


class InvitationWithdrawView(APIView):
    """An invitation opens nothing any more."""

    @ops.operation(DONE)
    def post(self, request: Request, invitation_id: int) -> Response:
        """No body; a repeat changes nothing."""

        def act() -> Response:
            inviting.withdraw(
                access=access_of(request._request), invitation_id=invitation_id,
                real_now=clock.real_now(),
            )  # fmt: skip
            return Response({"id": invitation_id})

        return once(request, act)


def _team(team_id: int | None) -> int | None:
    """A team there is. Raises `Missing`."""
    if team_id is not None and team_id not in selectors.team_names():
        raise Missing
    return team_id
