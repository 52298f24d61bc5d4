"""Requests under /api/v1: what the pages do, by the same forms and services."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from django.forms import Form
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from portal.common import api_operations as ops
from portal.common import clock
from portal.common.api import CREATED, Paging, PreconditionFailed, check_if_match, etag, once
from portal.common.api_shapes import page
from portal.common.errors import Conflict, Invalid, Missing
from portal.inventory import parameters
from portal.quotas import orders
from portal.requests import (
    asking,
    effects,
    examining,
    forms,
    presenting,
    schemas,
    selectors,
    services,
)
from portal.requests.models import Request as Row
from portal.requests.models import RequestKind, RequestState
from portal.requests.selectors import Tab
from portal.teams.middleware import access_of
from portal.teams.permissions import ASK, COST


class RequestListView(APIView):
    """Requests in reach, newest first; a POST saves a draft."""

    @ops.operation(
        page(schemas.REQUEST),
        query=(
            ops.word("tab", [t.value for t in Tab], "Which of the inbox's tabs."),
            ops.word("state", RequestState.values, "Only in this state."),
            ops.word("kind", RequestKind.values, "Only of this kind."),
            ops.TEAM,
            ops.POOL,
        ),
    )
    def get(self, request: Request) -> Response:
        """Filter by `tab` (waiting, teams, all), `state`, `kind`, `team` and `pool`."""
        now, access = clock.now(), access_of(request._request)
        tab = Tab(parameters.one_of(request, "tab", [t.value for t in Tab]) or Tab.ALL)
        wanted = {
            "state": parameters.one_of(request, "state", RequestState.values),
            "kind": parameters.one_of(request, "kind", RequestKind.values),
            "team_id": parameters.whole(request, "team"),
            "pool_id": parameters.whole(request, "pool"),
        }
        rows = selectors.list_requests(access=access, now=now, tab=tab).filter(
            **{name: value for name, value in wanted.items() if value is not None}
        )
        paging = Paging()
        page = paging.paginate_queryset(rows, request, view=self)
        return paging.get_paginated_response(
            [presenting.request(row, access, now) for row in page or []]
        )

    @ops.operation(schemas.REQUEST, body=schemas.ASKING, status=201, tagged=True)
    def post(self, request: Request) -> Response:
        """Save a draft for a team one may ask for."""

        def act() -> Response:
            row = services.save_draft(
                asked=_asked(request), actor_id=_who(request), now=clock.now()
            )
            return _answer(request, row.pk, status=CREATED)

        return once(request, act)


class CheckView(APIView):
    """Whether an asking fits, and what would; nothing is written."""

    @ops.operation(schemas.CHECK, body=schemas.ASKING, looks=True)
    def post(self, request: Request) -> Response:
        """The body is that of a request."""
        now = clock.now()
        row = asking.unsaved(_asked(request), now)
        access = access_of(request._request)
        if not access.holds(ASK, team_id=row.team_id):
            raise Missing
        priced = access.holds(COST, team_id=row.team_id)
        found = examining.examine(row, now, with_price=priced)
        return Response(presenting.examined(found, row, now, priced=priced))


class QuotaEffectsView(APIView):
    """What a change of a pool's quotas would change, and for whom; nothing is written."""

    @ops.operation(schemas.EFFECTS, body=orders.QuotaChangeBody, looks=True)
    def post(self, request: Request) -> Response:
        """The body is that of a change of quotas."""
        now = clock.now()
        order = orders.read(request.data, access=access_of(request._request), now=now)
        found = effects.of(
            pool_id=order.pool_id, wanted=order.wanted, valid_from=order.valid_from, now=now
        )
        return Response(presenting.effects(found))


class RequestDetailView(APIView):
    """One request with its thread; a PUT replaces a draft."""

    @ops.operation(schemas.REQUEST_IN_FULL, tagged=True)
    def get(self, request: Request, request_id: int) -> Response:
        """As it stands; the ETag is its version."""
        return _answer(request, request_id, with_comments=True)

    @ops.operation(schemas.REQUEST, body=schemas.ASKING, edits=True)
    def put(self, request: Request, request_id: int) -> Response:
        """All of a draft anew, checked as strictly as a new one."""
        return _move(
            request,
            request_id,
            lambda version: services.save_draft(
                asked=_asked(request), actor_id=_who(request), now=clock.now(),
                request_id=request_id, version=version,
            ),
        )  # fmt: skip


class SubmitView(APIView):
    """A draft is put before those who decide."""

    @ops.operation(schemas.REQUEST, edits=True)
    def post(self, request: Request, request_id: int) -> Response:
        """No body."""
        _body(request, frozenset())
        return _move(
            request,
            request_id,
            lambda version: services.submit(
                request_id=request_id, actor_id=_who(request), now=clock.now(), version=version
            ),
        )


class CancelView(APIView):
    """A draft or a submitted request is taken back."""

    @ops.operation(schemas.REQUEST, edits=True)
    def post(self, request: Request, request_id: int) -> Response:
        """No body."""
        _body(request, frozenset())
        return _move(
            request,
            request_id,
            lambda version: services.cancel(
                request_id=request_id, actor_id=_who(request), now=clock.now(), version=version
            ),
        )


class ApproveView(APIView):
    """An admin agrees, to all or to a part."""

    @ops.operation(schemas.REQUEST, body=schemas.APPROVE_BODY, edits=True)
    def post(self, request: Request, request_id: int) -> Response:
        """`granted_gpus` and `note`, both optional."""
        said = _decision(request, frozenset({"granted_gpus", "note"}))
        return _move(
            request,
            request_id,
            lambda version: services.approve(
                request_id=request_id, actor_id=_who(request), now=clock.now(),
                granted_gpus=said["granted_gpus"], note=said["note"], version=version,
            ),
        )  # fmt: skip


class RejectView(APIView):
    """An admin says no."""

    @ops.operation(schemas.REQUEST, body=schemas.REJECT_BODY, edits=True)
    def post(self, request: Request, request_id: int) -> Response:
        """`note` says why."""
        said = _decision(request, frozenset({"note"}))
        return _move(
            request,
            request_id,
            lambda version: services.reject(
                request_id=request_id, actor_id=_who(request), now=clock.now(),
                note=said["note"], version=version,
            ),
        )  # fmt: skip


class CommentsView(APIView):
    """The thread of a request."""

    @ops.operation(schemas.COMMENTS)
    def get(self, request: Request, request_id: int) -> Response:
        """All of it, oldest first."""
        found = [presenting.comment(c) for c in selectors.list_comments(request_id=request_id)]
        return Response({"count": len(found), "next": None, "previous": None, "results": found})

    @ops.operation(
        schemas.COMMENT, body=schemas.COMMENT_BODY, status=201, name="request-comment-create"
    )
    def post(self, request: Request, request_id: int) -> Response:
        """`text` is what one says."""
        text = _read(forms.CommentForm(dict(_body(request, frozenset({"text"})))))["text"]

        def act() -> Response:
            added = services.comment(
                request_id=request_id, text=text, actor_id=_who(request), now=clock.now()
            )
            said = selectors.Said(added.pk, added.author_id, "", added.at, added.text)
            return Response(presenting.comment(said), status=CREATED)

        return once(request, act)


def _asked(request: Request) -> services.Asked:
    return asking.asked_from(
        _object(request), access=access_of(request._request), now=clock.now(),
        default_zone=timezone.get_current_timezone_name(),
    )  # fmt: skip


def _object(request: Request) -> Mapping[str, Any]:
    if not isinstance(request.data, Mapping):
        raise Invalid(_("Send a JSON object."))
    return request.data


def _body(request: Request, known: frozenset[str]) -> Mapping[str, Any]:
    """The body, which may hold only these keys."""
    body = _object(request)
    unknown = sorted(set(body) - known)
    if unknown:
        say = _("This cannot be set.")
        raise Invalid(say, fields=dict.fromkeys(unknown, say))
    return body


def _decision(request: Request, known: frozenset[str]) -> dict[str, Any]:
    return _read(forms.DecisionForm(dict(_body(request, known))))


def _read(form: Form) -> dict[str, Any]:
    """What a page's form reads in the body; raises `Invalid` with every fault."""
    if not form.is_valid():
        faults = {name: " ".join(map(str, errors)) for name, errors in form.errors.items()}
        raise Invalid(next(iter(faults.values())), fields=faults)
    return dict(form.cleaned_data)


def _move(request: Request, request_id: int, act: Callable[[int | None], Row]) -> Response:
    """Make a move once per Idempotency-Key; with If-Match only on the version the asker saw."""

    def make() -> Response:
        version = selectors.get_request(request_id=request_id).version
        check_if_match(request, version)
        try:
            act(version if request.headers.get("If-Match") else None)
        except Conflict as conflict:
            if conflict.code == "changed_meanwhile":
                raise PreconditionFailed(conflict.message, details=conflict.details) from conflict
            raise
        return _answer(request, request_id)

    return once(request, make)


def _answer(
    request: Request, request_id: int, *, with_comments: bool = False, status: int = 200
) -> Response:
    now = clock.now()
    row = selectors.get_request(request_id=request_id)
    body = presenting.request(row, access_of(request._request), now)
    if with_comments:
        said = selectors.list_comments(request_id=request_id)
        body["comments"] = [presenting.comment(c) for c in said]
    return Response(body, status=status, headers={"ETag": etag(row.version)})


def _who(request: Request) -> int:
    return cast(int, request.user.pk)
