"""What is on its way out of the portal, for programs that look after it."""

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import Paging, once
from portal.common.api_shapes import page
from portal.common.errors import Invalid
from portal.common.models import OutboxMessage
from portal.notifications import leaving, schemas, services
from portal.notifications.leaving import Leaving

STATES = ("waiting", "given_up")


class OutboxListView(APIView):
    """Messages that are not there yet: those that wait, or those that were given up."""

    @ops.operation(
        page(schemas.LEAVING),
        query=(ops.word("state", STATES, "Those that wait (as without it), or were given up."),),
    )
    def get(self, request: Request) -> Response:
        """One page, newest first."""
        state = request.query_params.get("state") or STATES[0]
        if state not in STATES:
            say = _("Give one of: %(words)s.") % {"words": ", ".join(STATES)}
            raise Invalid(_("The address has faults."), fields={"state": say})
        paging = Paging()
        rows = leaving.query(given_up=state == "given_up")
        found: list[OutboxMessage] = paging.paginate_queryset(rows, request, view=self) or []
        return paging.get_paginated_response(list(map(_shown, leaving.list_rows(found))))


class AgainView(APIView):
    """A message that was given up is sent once more."""

    @ops.operation(schemas.AGAIN)
    def post(self, request: Request, message_id: int) -> Response:
        """No body; `again` is 0 where it was not given up."""

        def act() -> Response:
            again = services.try_again(
                message_id=message_id, actor_id=request.user.pk, real_now=clock.real_now()
            )
            return Response({"again": again})

        return once(request, act)


def _shown(row: Leaving) -> dict[str, object]:
    return {
        "id": row.id, "channel": row.channel, "to": row.to, "subject": row.subject,
        "created_at": row.created_at, "attempts": row.attempts, "due_at": row.due_at,
        "given_up_at": row.given_up_at, "error": row.error,
    }  # fmt: skip
