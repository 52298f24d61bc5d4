"""Gives every request an id, the same in the answer, the audit and the logs."""

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from portal.common import audit

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Takes a well-formed `X-Request-Id` or makes one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Run the request under its id."""
        given = request.headers.get("X-Request-Id", "")
        request_id = given if _WELL_FORMED.fullmatch(given) else uuid.uuid4().hex
        token = audit.request_id.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            audit.request_id.reset(token)
        response["X-Request-Id"] = request_id
        return response
