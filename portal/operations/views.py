"""For load balancers, orchestrators and Prometheus: alive, ready, and in figures."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST

from portal.operations import checks, metrics


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
