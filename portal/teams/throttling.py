"""Nobody asks the API too often, and nobody tries tokens: so many a minute, told in headers.

Each token, each person with a session and each address that fails to say who it is counts by
itself. It stands before the token is looked at, so that guessing costs the guesser.
"""

from collections.abc import Callable

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _

from portal.common import rates
from portal.common.api import problem_response
from portal.common.api_faults import TooOften, is_for_programs
from portal.common.rates import Rate
from portal.teams import tokens

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MINT = "teams:tokens"
HOUR = 3600


class ThrottleMiddleware:
    """Counts, refuses what is too often, and says how much is left."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse an address that keeps failing; count it when it fails again."""
        if not is_for_programs(request):
            return self.get_response(request)
        stranger = f"from:{_address(request)}"
        failed = rates.count(stranger, settings.API_STRANGERS, by=0)
        if failed.remaining == 0 and not request.user.is_authenticated:
            return _refused(request, failed)
        response = self.get_response(request)
        rate: Rate | None = getattr(request, "rate", None)
        if response.status_code == 401:
            rate = rates.count(stranger, settings.API_STRANGERS)
        if rate is not None:
            _tell(response, rate)
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponseBase | None:
        """Count whoever is known by now; None lets the view run."""
        rate = _rate_of(request)
        if rate is None:
            return None
        request.rate = rate  # type: ignore[attr-defined]  # told in the answer's headers
        return _refused(request, rate) if rate.is_over else None


def _address(request: HttpRequest) -> str:
    try:
        return str(get_adapter().get_client_ip(request))
    except PermissionDenied:
        return ""  # a socket file, behind which all look alike


def _rate_of(request: HttpRequest) -> Rate | None:
    """Where this request leaves whoever asks; None where nobody counts."""
    match, reads = request.resolver_match, request.method in SAFE
    if not request.user.is_authenticated:
        return None
    if is_for_programs(request):
        token = tokens.token_of(request)
        who = f"token:{token.pk}" if token else f"person:{request.user.pk}"
        if reads:
            return rates.count(who, settings.API_READS)
        return rates.count(f"{who}:writes", settings.API_WRITES)
    if match and match.view_name == MINT and not reads:
        return rates.count(f"mint:{request.user.pk}", settings.TOKEN_MINTS, seconds=HOUR)
    return None


def _refused(request: HttpRequest, rate: Rate) -> HttpResponseBase:
    if is_for_programs(request):
        say = _("Too many requests. Go on in %(seconds)s seconds.") % {"seconds": rate.reset}
        response: HttpResponse = problem_response(TooOften(say, details={"seconds": rate.reset}))
    else:
        response = render(request, "429.html", {"asked_too_often": True}, status=429)
    response["Retry-After"] = str(rate.reset)
    _tell(response, rate)
    return response


def _tell(response: HttpResponseBase, rate: Rate) -> None:
    response["RateLimit-Limit"] = str(rate.limit)
    response["RateLimit-Remaining"] = str(rate.remaining)
    response["RateLimit-Reset"] = str(rate.reset)
