"""Who am I, and which teams are there."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging
from portal.common.api_shapes import page
from portal.teams import schemas, selectors
from portal.teams.middleware import access_of
from portal.teams.models import User


class MeView(APIView):
    """The asker, their roles and what each reaches."""

    @ops.operation(schemas.ME)
    def get(self, request: Request) -> Response:
        """One object; `teams` null is the whole organisation."""
        user = request.user
        assert isinstance(user, User)
        grants = access_of(request._request).grants
        return Response(
            {
                "id": user.pk,
                "username": user.username,
                "name": user.get_full_name(),
                "roles": [
                    {"role": g.role, "teams": None if g.team_ids is None else sorted(g.team_ids)}
                    for g in grants
                ],
            }
        )


class TeamListView(APIView):
    """The tree: names and places are open to the organisation."""

    @ops.operation(page(schemas.TEAM))
    def get(self, request: Request) -> Response:
        """All teams, parents first."""
        rows = selectors.get_tree(now=clock.now()).rows
        results = [
            {
                "id": r.id,
                "slug": r.slug,
                "name": r.name,
                "parent": r.parent_id,
                "weight": r.weight,
                "priority": r.priority,
            }
            for r in rows
        ]
        paging = Paging()
        found = paging.paginate_queryset(results, request, view=self)
        return paging.get_paginated_response(found or [])
