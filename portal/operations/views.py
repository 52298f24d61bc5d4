"""For load balancers and orchestrators: alive, and ready."""

from django.http import HttpRequest, HttpResponse, JsonResponse

from portal.operations import checks


def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Say whether a page would work: 200 or 503, without saying more than that to strangers."""
    findings = checks.examine(checks.READY)
    ready = all(f.level is not checks.Level.BAD for f in findings)
    return JsonResponse({"ready": ready}, status=200 if ready else 503)
