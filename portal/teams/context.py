"""What the page shell needs: time, navigation, the reader's theme."""

from typing import Any, cast

from django.http import HttpRequest
from django.utils import timezone

from portal.common import clock
from portal.teams import selectors
from portal.teams.middleware import access_of
from portal.teams.models import User


def shell(request: HttpRequest) -> dict[str, Any]:
    """Values for every page's frame; read once a request, since a table in a page asks again."""
    if not hasattr(request, "shell"):
        request.shell = _read(request)  # type: ignore[attr-defined]  # read back right here
    return cast(dict[str, Any], request.shell)  # type: ignore[attr-defined]


def _read(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    real = clock.real_now()
    now = clock.at(real)
    return {
        "access": access_of(request),
        "organisation": getattr(request, "organisation", None) or selectors.get_organisation(),
        "theme": user.theme if isinstance(user, User) else "system",
        "now": now,
        "real_now": real,
        "clock_differs": abs((now - real).total_seconds()) > 1,
        "zone": timezone.get_current_timezone_name(),
    }
