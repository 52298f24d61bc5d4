"""What stands before all else: doors for machines, and the count of what was answered.

Probes and Prometheus ask by a machine's address, over plain http, and most of all when the
database is away. So their three doors open before anything that looks at hosts, sessions or rows.
"""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import resolve

from portal.operations import counting

DOORS = frozenset({"/healthz", "/readyz", "/metrics"})


class MachinesMiddleware:
    """Opens the doors for machines."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a machine; let everybody else in."""
        if request.path_info not in DOORS:
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response: HttpResponse = resolve(request.path_info).func(request)
        return response


class CountingMiddleware:
    """Counts each answer and its time, also those nobody found a page for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and count."""
        begun = time.monotonic()
        response = self.get_response(request)
        counting.note(request, status=response.status_code, seconds=time.monotonic() - begun)
        return response
