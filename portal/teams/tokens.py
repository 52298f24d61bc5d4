"""API tokens: whose request it is, and how far the token lets it reach.

A scope is `<room>:read` or `<room>:write`; `all:…` reaches every room, and write includes read. A
scope only takes away: a token never does what the roles of its owner do not. Tokens are made on a
page after a fresh second factor, shown once, kept as a hash and checked by django-rest-knox.
"""

from typing import Any

from django.http import HttpRequest
from django.urls import ResolverMatch
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from knox.auth import TokenAuthentication
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from portal.common import clock
from portal.common.errors import Refusal
from portal.teams.models import ApiToken, User

EVERY_ROOM = "all"
ROOMS = {
    EVERY_ROOM: gettext_lazy("Everything"),
    "teams": gettext_lazy("People and teams"),
    "notifications": gettext_lazy("Inbox"),
    "requests": gettext_lazy("Requests"),
    "reservations": gettext_lazy("Reservations"),
    "quotas": gettext_lazy("Quotas"),
    "slas": gettext_lazy("SLAs"),
    "scheduling": gettext_lazy("Queue, decisions and policy"),
    "inventory": gettext_lazy("Clusters, pools and nodes"),
    "kubernetes": gettext_lazy("Sync and drift"),
    "usage": gettext_lazy("Usage"),
    "finance": gettext_lazy("Costs"),
    "studies": gettext_lazy("What-if"),
    "dashboards": gettext_lazy("Fairness and audit"),
}
SCOPES = tuple(f"{room}:{does}" for room in ROOMS for does in ("read", "write"))
LONGEST_DAYS = 366
PREFIX = "evenshare_"
"""What every token begins with, so that one that got out is known for what it is."""


def scope_choices() -> list[tuple[str, str]]:
    """Return every scope with words for people."""
    return [
        choice
        for room, label in ROOMS.items()
        for choice in (
            (f"{room}:read", _("%(room)s: read") % {"room": label}),
            (f"{room}:write", _("%(room)s: change") % {"room": label}),
        )
    ]


class BadToken(Refusal):
    """The header names no token that holds."""

    status = 401
    code = "not_authenticated"


class ScopeMissing(Refusal):
    """The token was made for less than this."""

    status = 403
    code = "scope_missing"


def owner_of(request: HttpRequest) -> User | None:
    """Return who sent this token, and note it on the request; None without a token.

    Raises `BadToken` for one that is unknown, expired, revoked or of somebody shut out.
    """
    try:
        found = TokenAuthentication().authenticate(request)
    except (AuthenticationFailed, UnicodeDecodeError):
        raise BadToken(_("This token is not known, has expired or was revoked.")) from None
    if found is None:
        return None
    user, token = found
    assert isinstance(user, User)
    assert isinstance(token, ApiToken)
    today = clock.real_now().date()
    if token.last_used_on != today:
        ApiToken.objects.filter(pk=token.pk).update(last_used_on=today)
    request.api_token = token  # type: ignore[attr-defined]  # read back by `token_of`
    return user


def token_of(request: HttpRequest) -> ApiToken | None:
    """Return the token this request came with, if it came with one."""
    return getattr(request, "api_token", None)


def check_scope(token: ApiToken, match: ResolverMatch | None, *, writes: bool) -> None:
    """Raise `ScopeMissing` when the token was not made for this room, whatever the id asked for."""
    room = room_of(match)
    wanted = f"{room}:{'write' if writes else 'read'}"
    enough = {wanted, f"{room}:write", f"{EVERY_ROOM}:write"}
    if not writes:
        enough.add(f"{EVERY_ROOM}:read")
    if not enough & set(token.scopes):
        raise ScopeMissing(
            _("This token lacks the scope %(scope)s.") % {"scope": wanted},
            details={"scope": wanted},
        )


def room_of(match: ResolverMatch | None) -> str:
    """Return the room whose view answers, such as `requests`; of an unknown one, every room."""
    view: Any = getattr(match.func, "cls", match.func) if match else None
    parts = str(getattr(view, "__module__", "")).split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else EVERY_ROOM


class ByToken(BaseAuthentication):
    """Takes over, for REST framework, whom the middleware found by the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the owner and the token; None leaves it to the session and its CSRF check."""
        token = token_of(request._request)
        return None if token is None else (token.user, token)

    def authenticate_header(self, request: Request) -> str:
        """Say how to come in, so that REST framework answers 401."""
        return "Bearer"
