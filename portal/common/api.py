"""The conventions of /api/v1: problem+json, paging, ETag and If-Match, idempotency keys.

- Errors are `application/problem+json` (RFC 9457): type, title, status, detail, code, fields.
- Lists answer `{"count", "next", "previous", "results"}`; `page` and `page_size` (at most 200).
- A row that can be edited carries `version`; its ETag is that number. An edit may send If-Match
  and loses with 412 when the row has moved on.
- A write may carry `Idempotency-Key`; the same key with the same body gets the first answer again
  (24 hours), with another body 422, and while the first is still under way 409.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from rest_framework import exceptions, status
from rest_framework.pagination import PageNumberPagination
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

from portal.common import clock
from portal.common.errors import Conflict, Invalid, Refusal
from portal.common.models import IdempotencyKey

PROBLEM = "application/problem+json"
LAST_PAGE = 10**9
KEPT = timedelta(hours=24)
# Write and answer are one transaction, so a key without an answer for this long was left by a
# process that died and changed nothing: whoever comes next may take it over.
ABANDONED = timedelta(minutes=5)
WELL_FORMED = re.compile(r"[!-~]{1,120}")
UNDER_WAY = "The first request with this Idempotency-Key is still under way."


class Paging(PageNumberPagination):
    """Pages of 50 by default, 200 at most."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def get_page_size(self, request: Request) -> int | None:
        """How many were asked for; what is no such number is told, not passed over."""
        return _whole(request, "page_size", usual=self.page_size, most=self.max_page_size)

    def get_page_number(self, request: Request, paginator: Any) -> int:
        """Which page was asked for; one beyond the last is not found."""
        return _whole(request, "page", usual=1, most=LAST_PAGE)


def _whole(request: Request, name: str, *, usual: int, most: int) -> int:
    text = request.query_params.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 1 <= int(text) <= most):
        say = _("Give a whole number from 1 to %(most)s.") % {"most": most}
        raise Invalid(_("The address has faults."), fields={name: say})
    return int(text)


class PreconditionFailed(Refusal):
    """The row has moved on since the asker read it."""

    status = 412
    code = "changed_meanwhile"


def problem(
    *,
    status_code: int,
    title: str,
    code: str,
    fields: Mapping[str, object] | None = None,
    details: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The body of an error, as RFC 9457 has it."""
    body: dict[str, object] = {
        "type": f"urn:evenshare:problem:{code}",
        "title": title,
        "status": status_code,
        "code": code,
    }
    if fields:
        body["fields"] = dict(fields)
    if details:
        body["details"] = dict(details)
    return body


def problem_response(refusal: Refusal) -> JsonResponse:
    """A refusal as an answer outside REST framework, such as from a middleware."""
    body = problem(
        status_code=refusal.status, title=str(refusal.message), code=refusal.code,
        fields=refusal.fields, details=refusal.details,
    )  # fmt: skip
    return JsonResponse(body, status=refusal.status, content_type=PROBLEM)


def problem_from_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's hook: every error leaves as a problem."""
    if isinstance(error, Refusal):
        set_rollback()
        body = problem(
            status_code=error.status, title=str(error.message), code=error.code,
            fields=error.fields, details=error.details,
        )  # fmt: skip
        return Response(body, status=error.status, content_type=PROBLEM)
    if isinstance(error, Http404):
        error = exceptions.NotFound("Not found.")
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    response = exception_handler(error, context)
    if response is None or not isinstance(error, exceptions.APIException):
        return response
    fields = error.detail if isinstance(error, exceptions.ValidationError) else None
    body = problem(
        status_code=response.status_code,
        title="The request has faults." if fields else str(error.detail),
        code="invalid" if fields else str(error.default_code),
        fields=fields if isinstance(fields, dict) else ({"": fields} if fields else None),
    )
    return Response(
        body, status=response.status_code, headers=_kept(response), content_type=PROBLEM
    )


def _kept(response: Response) -> dict[str, str]:
    """Headers of the framework's answer that must survive."""
    return {k: v for k, v in response.items() if k in ("WWW-Authenticate", "Retry-After")}


def etag(version: int) -> str:
    """The ETag of a row at a version."""
    return f'"{version}"'


def check_if_match(request: Request | HttpRequest, version: int) -> None:
    """Raise `PreconditionFailed` when the asker saw another version; no header, no check."""
    wanted = request.headers.get("If-Match")
    if wanted is None or wanted == "*":
        return
    if etag(version) not in {p.strip() for p in wanted.split(",")}:
        raise PreconditionFailed("It was changed meanwhile. Read it again, then edit.")


def once(
    request: Request, act: Callable[[], Response], *, outside: bool = False, unkept: str = ""
) -> Response:
    """Run a write, or repeat the answer it once gave under the same Idempotency-Key.

    `outside` is for what writes to a cluster, which no transaction may wait for; should it die
    half-way, its own state says how far it came, and the key is free again after a while.
    `unkept` names what an answer shows this once: a repeat has null there.
    Raises `Invalid` for a key used with another body, `Conflict` while the first is under way.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return act()
    if not WELL_FORMED.fullmatch(key):
        raise Invalid("An Idempotency-Key has at most 120 letters, digits and signs.")
    remembered = _claim(request, key)
    if remembered.status is not None:
        return Response(remembered.answer, status=remembered.status)
    try:
        with nullcontext() if outside else transaction.atomic():
            response = act()
            remembered.status = response.status_code
            remembered.answer = json.loads(JSONRenderer().render(response.data))
            if unkept:
                remembered.answer[unkept] = None
            remembered.save(update_fields=["status", "answer"])
    except BaseException:
        remembered.delete()
        raise
    return response


def _claim(request: Request, key: str) -> IdempotencyKey:
    """The row of this key: new and empty, or the one that remembers the answer."""
    body_hash = hashlib.sha256(
        json.dumps(request.data, sort_keys=True, default=str).encode()
    ).hexdigest()
    now = clock.real_now()
    user_id = int(request.user.pk or 0)
    IdempotencyKey.objects.filter(created_at__lt=now - KEPT).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                user_id=user_id, key=key, method=str(request.method), path=request.path,
                body_hash=body_hash, created_at=now,
            )  # fmt: skip
    except IntegrityError:
        row = IdempotencyKey.objects.filter(user_id=user_id, key=key).first()
    if row is None:
        # The first was refused just now and has let go of its key.
        raise Conflict(UNDER_WAY)
    if (row.method, row.path, row.body_hash) != (request.method, request.path, body_hash):
        raise Invalid("This Idempotency-Key was used for another request.", code="key_reused")
    if row.status is None and not _take_over(row, now):
        raise Conflict(UNDER_WAY)
    return row


def _take_over(row: IdempotencyKey, now: datetime) -> bool:
    """Win a key whose first owner died; false while it may still be at work."""
    abandoned = IdempotencyKey.objects.filter(
        pk=row.pk, status__isnull=True, created_at__lt=now - ABANDONED
    )
    return abandoned.update(created_at=now) == 1


CREATED = status.HTTP_201_CREATED
