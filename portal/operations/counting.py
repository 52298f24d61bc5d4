"""How many requests were answered and how fast, by the name of their route.

Counted in the process that answers. A web server of several processes names a folder in
PROMETHEUS_MULTIPROC_DIR (`deploy/gunicorn_conf.py` makes one); there each keeps its counts in files,
of which any of them gives the sum. Routes, methods and codes are few and name nobody.
"""

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
OWN = CollectorRegistry()
REQUESTS = Counter(
    "evenshare_http_requests", "Requests answered.", ["route", "method", "status"], registry=OWN
)
SECONDS = Histogram(
    "evenshare_http_seconds", "How long answers took.", ["route"], buckets=BOUNDS, registry=OWN
)


def note(request: HttpRequest, *, status: int, seconds: float) -> None:
    """Count one answer."""
    route = route_of(request)
    method = request.method if request.method in METHODS else "other"
    REQUESTS.labels(route=route, method=method, status=str(status)).inc()
    SECONDS.labels(route=route).observe(seconds)


def route_of(request: HttpRequest) -> str:
    """The route's name, never the address, which may hold ids and names."""
    if request.resolver_match is not None:
        return request.resolver_match.view_name or "unnamed"
    return "static" if request.path.startswith(settings.STATIC_URL) else "none"


def exposition() -> bytes:
    """All counts, of every process of this web server."""
    if not settings.METRICS_FOLDER:
        return generate_latest(OWN)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=settings.METRICS_FOLDER)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
