"""Gives every request an id, the same in the answer, the audit and the logs."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from portal.common import audit, clock, logs, pages

log = logging.getLogger("portal.access")
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Takes a well-formed `X-Request-Id` or makes one, and writes a line about each request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Run the request under its id."""
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
        token, begun = audit.request_id.set(request_id), time.monotonic()
        try:
            with (
                logs.bound_to(request=request_id),
                clock.remembered(),
                pages.answering(request.method),
            ):
                response = self.get_response(request)
                _write(request, response, time.monotonic() - begun)
        finally:
            audit.request_id.reset(token)
        response["X-Request-Id"] = request_id
        return response


def _write(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Who asked for what, what came of it and in what time; no query, which may hold names."""
    user = getattr(request, "user", None)
    with logs.bound_to(
        method=request.method, path=_path(request), status=response.status_code,
        ms=round(seconds * 1000), user=getattr(user, "pk", None),
    ):  # fmt: skip
        log.info("served")


def _path(request: HttpRequest) -> str:
    """The path without the secret some addresses carry."""
    match = request.resolver_match
    token = match.kwargs.get("token") if match else None
    return request.path.replace(str(token), "***") if token else request.path
