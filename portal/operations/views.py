"""For load balancers, orchestrators and Prometheus: alive, ready, in figures; and the API's pages."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from prometheus_client import CONTENT_TYPE_LATEST

from portal.common.errors import Missing
from portal.operations import checks, metrics
from portal.operations import reference as documented


def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Say whether a page would work: 200 or 503, without saying more than that to strangers."""
    findings = checks.examine(checks.READY)
    ready = all(f.level is not checks.Level.BAD for f in findings)
    return JsonResponse({"ready": ready}, status=200 if ready else 503)


def metrics_page(request: HttpRequest) -> HttpResponse:
    """Tell Prometheus how we are, if it may know."""
    if not metrics.may_read(request):
        refused = HttpResponse("Figures need the token.\n", status=401, content_type="text/plain")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    return HttpResponse(metrics.exposition(), content_type=CONTENT_TYPE_LATEST)


def reference(request: HttpRequest) -> HttpResponse:
    """Show what the API offers, room by room."""
    context = {"rooms": list(documented.rooms().values()), "about": documented.about()}
    return render(request, "operations/reference.html", context)


def reference_room(request: HttpRequest, room: str) -> HttpResponse:
    """Show one room's operations with all they take and answer."""
    found = documented.rooms().get(room)
    if found is None:
        raise Missing
    context = {"room": found, "rooms": list(documented.rooms().values())}
    return render(request, "operations/reference_room.html", context)
