"""Trying, listing and taking back policies under /api/v1."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, PreconditionFailed, check_if_match, etag, once
from portal.common.api_shapes import FREE, page
from portal.common.errors import Conflict, Invalid, Missing
from portal.scheduling import answers, schemas, selectors, services, trying
from portal.scheduling.selectors import PolicyRow


class UndoBody(serializers.Serializer[object]):
    """Why it is taken back."""

    note = serializers.CharField(max_length=1000, required=False, allow_blank=True, default="")


class DryRunView(APIView):
    """What another policy would do at the next tick."""

    @ops.operation(schemas.REHEARSAL, body=FREE, looks=True)
    def post(self, request: Request, cluster_id: int) -> Response:
        """Send the whole `policy` object of the engine's contract; nothing is written."""
        if _row(cluster_id) is None:
            raise Missing
        if not isinstance(request.data, dict):
            raise Invalid(_("Send the policy as one JSON object."))
        rules = services.checked_rules(request.data)
        tried = trying.try_policy(cluster_id=cluster_id, rules=rules, now=clock.now())
        return Response(answers.rehearsal(tried))


class HistoryView(APIView):
    """Every policy a cluster was given."""

    @ops.operation(page(schemas.POLICY))
    def get(self, request: Request, cluster_id: int) -> Response:
        """Newest first."""
        if _row(cluster_id) is None:
            raise Missing
        paging = Paging()
        rows: Any = selectors.list_policies(cluster_id=cluster_id)
        found: list[PolicyRow] = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response([answers.policy(row) for row in found])


class UndoView(APIView):
    """Takes the newest policy back."""

    @ops.operation(schemas.POLICY, body=UndoBody, edits=True)
    def post(self, request: Request, cluster_id: int) -> Response:
        """The policy from before holds again from the next tick on, as a policy of its own."""

        def act() -> Response:
            body = UndoBody(data=request.data)
            body.is_valid(raise_exception=True)
            before = _row(cluster_id)
            if before is None:
                raise Missing
            check_if_match(request, before.id)
            try:
                services.undo_policy(
                    cluster_id=cluster_id, seen_policy_id=before.id, actor_id=request.user.pk,
                    now=clock.now(), note=body.validated_data["note"],
                )  # fmt: skip
            except Conflict as conflict:
                if "If-Match" in request.headers and conflict.code == "changed_meanwhile":
                    raise PreconditionFailed(conflict.message) from conflict
                raise
            row = _row(cluster_id)
            assert row is not None
            return Response(answers.policy(row), headers={"ETag": etag(row.id)})

        return once(request, act)


def _row(cluster_id: int) -> PolicyRow | None:
    return selectors.get_policy(cluster_id=cluster_id, now=clock.now())
