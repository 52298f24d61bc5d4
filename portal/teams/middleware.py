"""Who is asking, in which language and zone, and whether the route is open to them."""

import zoneinfo
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found

from portal.common import clock
from portal.common.api import problem_response
from portal.common.errors import Invalid, Missing, Refusal
from portal.teams import permissions, selectors, tokens
from portal.teams.models import User
from portal.teams.permissions import Rule, Verdict

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LARGEST_ID = 2**63 - 1


class NotSignedIn(Refusal):
    """The API wants to know who asks."""

    status = 401
    code = "not_authenticated"


class TooLarge(Refusal):
    """More than anybody has to say at once."""

    status = 413
    code = "too_large"


class TokenMiddleware:
    """On API routes, lets a token say who asks; pages know sessions alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Put the token's owner on the request; a token that does not hold ends it here."""
        if request.path.startswith("/api/") and "Authorization" in request.headers:
            try:
                owner = tokens.owner_of(request)
            except Refusal as refusal:
                return problem_response(refusal)
            if owner is not None:
                request.user = owner
        return self.get_response(request)


class PreferencesMiddleware:
    """Turns on the person's language and zone: their own, else the browser's, else the house's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Run the request in the person's language and zone."""
        user = request.user if isinstance(request.user, User) else None
        language = (user.language if user else "") or translation.get_language_from_request(request)
        organisation = selectors.get_organisation()
        request.organisation = organisation  # type: ignore[attr-defined]  # for the page's frame
        zone = (user.zone if user else "") or organisation.zone
        translation.activate(language)
        with timezone.override(zoneinfo.ZoneInfo(zone)):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        translation.deactivate()
        return response


class AccessMiddleware:
    """Asks `permissions.decide` before any view; puts the asker's `Access` on the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Let no browser and no cache keep an answer; the deciding is in `process_view`.

        What one may see hangs on a role and on the clock, and a signed-out browser's back button
        must not show it again.
        """
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        """Answer for a view that is not open; None lets it run."""
        user_id = request.user.pk if request.user.is_authenticated else None
        access = selectors.get_access(user_id=user_id, now=clock.now())
        request.access = access  # type: ignore[attr-defined]  # read back by `access_of`
        match = request.resolver_match
        rule = rule_for(match.view_name if match else "")
        writes = request.method not in SAFE
        token = tokens.token_of(request)
        if token is not None:
            try:
                tokens.check_scope(token, match, writes=writes)
            except Refusal as refusal:
                return problem_response(refusal)
        verdict = permissions.decide(rule, access, writes=writes, kwargs=kwargs)
        if verdict is Verdict.OPEN and any(map(_names_no_row, kwargs.values())):
            verdict = Verdict.NOT_FOUND
        is_api = request.path.startswith("/api/")
        if verdict is Verdict.OPEN:
            # REST framework reads a body past Django's own bound.
            too_large = is_api and _length(request) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            return problem_response(TooLarge(_("The body is too large."))) if too_large else None
        if verdict is Verdict.SIGN_IN:
            if is_api:
                return problem_response(NotSignedIn("Sign in, or send a token."))
            return to_sign_in(request)
        if is_api:
            return problem_response(Missing())
        raise Http404

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 404 where a page's address names what is not there, or cannot be."""
        reads = request.method in SAFE
        if isinstance(error, Missing) or (reads and isinstance(error, Invalid)):
            return page_not_found(request, error)
        return None


def _names_no_row(argument: object) -> bool:
    """Whether a number in an address is beyond any row's, and beyond what databases take."""
    return isinstance(argument, int) and argument > LARGEST_ID


def _length(request: HttpRequest) -> int:
    """How many bytes the sender says there are; a server reads no more than that.

    A file counts as none: whoever takes one bounds it, and no one else reads it.
    """
    text = request.META.get("CONTENT_LENGTH") or "0"
    is_file = request.content_type == "multipart/form-data"
    return int(text) if not is_file and text.isascii() and text.isdigit() else 0


def access_of(request: HttpRequest) -> selectors.Access:
    """What the asker may reach, as the middleware found it."""
    return cast(selectors.Access, getattr(request, "access", selectors.NOBODY))


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """Off to the sign-in page, and back here afterwards; htmx is told to leave the page whole."""
    part = request.headers.get("HX-Request") is not None
    back = _page_of_part(request) if part else request.get_full_path()
    target = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': back})}"
    if part:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = target
        return response
    return HttpResponseRedirect(target)


def _page_of_part(request: HttpRequest) -> str:
    """The page an htmx request came from; its address names the part alone."""
    page = urlsplit(request.headers.get("HX-Current-URL", ""))
    path = page.path if page.path.startswith("/") else "/"
    return f"{path}?{page.query}" if page.query else path


@cache
def _rules() -> Mapping[str, Rule]:
    return cast(Mapping[str, Rule], import_string(settings.ACCESS_RULES))


def rule_for(name: str) -> Rule | None:
    """The rule of a route by its name; a whole namespace may have one as `namespace:*`."""
    rules = _rules()
    return rules.get(name) or rules.get(f"{name.partition(':')[0]}:*")
