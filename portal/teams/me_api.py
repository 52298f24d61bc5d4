"""What is one's own: preferences, tokens and sessions. Tokens are made on a page alone."""

from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, once
from portal.common.api_bodies import Strict, read
from portal.common.api_shapes import DONE, page
from portal.common.errors import Invalid
from portal.teams import own, schemas, selectors, services
from portal.teams.forms import PreferencesForm
from portal.teams.models import Language, Theme, User


class PreferencesBody(Strict):
    """What one wants otherwise; what is left out stays as it is."""

    language = serializers.ChoiceField(choices=Language.choices, required=False)
    theme = serializers.ChoiceField(choices=Theme.choices, required=False)
    zone = serializers.CharField(max_length=64, required=False)


class PreferencesView(APIView):
    """One's language, theme and time zone; empty is as the organisation has it."""

    @ops.operation(schemas.PREFERENCES)
    def get(self, request: Request) -> Response:
        """As they are."""
        return Response(_preferences(_me(request).pk))

    @ops.operation(schemas.PREFERENCES, body=PreferencesBody)
    def put(self, request: Request) -> Response:
        """Change any of them."""

        def act() -> Response:
            form = PreferencesForm(read(PreferencesBody, request.data))
            if not form.is_valid():
                faults = {name: " ".join(map(str, said)) for name, said in form.errors.items()}
                raise Invalid(next(iter(faults.values())), fields=faults)
            if chosen := form.chosen():
                services.set_preferences(user_id=_me(request).pk, **chosen)
            return Response(_preferences(_me(request).pk))

        return once(request, act)


class TokenListView(APIView):
    """One's tokens that hold; none of them can be read again."""

    @ops.operation(page(schemas.TOKEN))
    def get(self, request: Request) -> Response:
        """The newest first."""
        rows = selectors.list_tokens(user_id=_me(request).pk, real_now=clock.real_now())
        paging = Paging()
        found = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response(
            [
                {
                    "id": row.public_id, "name": row.name, "scopes": list(row.scopes),
                    "created_at": row.created, "expires_at": row.expiry,
                    "last_used_on": row.last_used_on,
                }
                for row in found
            ]
        )  # fmt: skip


class TokenRevokeView(APIView):
    """A token of one's own ends."""

    @ops.operation(schemas.REVOKED)
    def post(self, request: Request, token_id: UUID) -> Response:
        """No body; one that is gone, or another's, is left alone."""

        def act() -> Response:
            services.revoke_token(user_id=_me(request).pk, public_id=token_id)
            return Response({"id": str(token_id)})

        return once(request, act)


class SessionListView(APIView):
    """Where one is signed in."""

    @ops.operation(page(schemas.SESSION))
    def get(self, request: Request) -> Response:
        """The latest first."""
        rows = own.list_sessions(user_id=_me(request).pk)
        paging = Paging()
        found = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response(
            [
                {
                    "id": row.pk, "address": row.ip or None, "browser": row.user_agent,
                    "began_at": row.created_at, "last_seen_at": row.last_seen_at,
                    "is_this_one": row.session_key == request.session.session_key,
                }
                for row in found
            ]
        )  # fmt: skip


class SessionEndView(APIView):
    """One of one's own browsers is signed out."""

    @ops.operation(DONE)
    def post(self, request: Request, session_id: int) -> Response:
        """No body."""

        def act() -> Response:
            own.end_session(user_id=_me(request).pk, session_id=session_id)
            return Response({"id": session_id})

        return once(request, act)


def _me(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


def _preferences(user_id: int) -> dict[str, str]:
    user = User.objects.get(pk=user_id)
    return {"language": user.language, "theme": user.theme, "zone": user.zone}
