"""What an API server says instead of doing as asked → the port's errors. Pure.

A refusal is a `Status` object: `reason` tells the two kinds of 409 apart (a field owned by another
manager has causes named FieldManagerConflict, a stale version has none), `details.causes` says
which field is meant, and `details.retryAfterSeconds` repeats the Retry-After header. A field that
the kind does not have is the asker's fault, yet a real server answers an apply of one with 500.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from portal.kubernetes.port import (
    ClusterError,
    FieldConflict,
    Gone,
    NotFound,
    Refused,
    StaleVersion,
    TooMany,
    Unreachable,
)

OWNER = re.compile(r'conflict with "(?P<manager>[^"]*)"')
PATIENCE_SECONDS = 5
NOT_A_FIELD = "field not declared in schema"


def error(status: int, headers: Mapping[str, str], body: bytes) -> ClusterError:
    """The error of an answer that is not a success."""
    told = _status(body)
    message = str(told.get("message") or "") or _(
        "The cluster answered with status %(status)s."
    ) % {"status": status}
    match status:
        case 401:
            return Refused(
                _("The cluster does not know our account: %(message)s") % {"message": message}
            )
        case 404:
            return NotFound(message)
        case 409:
            return _conflict(told, message)
        case 410:
            return Gone(message)
        case 429:
            return TooMany(message, _patience(headers, told))
        case 422 if _is_another(told):
            return StaleVersion(message)
        case _ if status >= 500:
            return _server_error(status, headers, told, message)
        case _:
            return Refused(message)


def _status(body: bytes) -> Mapping[str, Any]:
    """The `Status` of an answer; empty where something else answered, such as a proxy."""
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _conflict(told: Mapping[str, Any], message: str) -> ClusterError:
    owners = {
        str(cause.get("field", "")).removeprefix("."): _owner(str(cause.get("message", "")))
        for cause in _causes(told)
        if cause.get("reason") == "FieldManagerConflict"
    }
    return FieldConflict(message, owners) if owners else StaleVersion(message)


def _causes(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (told.get("details") or {}).get("causes") or []
    return found


def _owner(text: str) -> str:
    """The manager a conflict names, without how and when it wrote."""
    found = OWNER.search(text)
    return found["manager"] if found else ""


def _is_another(told: Mapping[str, Any]) -> bool:
    """Whether the object was deleted and created anew: its uid is not the one we knew."""
    return any(cause.get("field") == "metadata.uid" for cause in _causes(told))


def _server_error(
    status: int, headers: Mapping[str, str], told: Mapping[str, Any], message: str
) -> ClusterError:
    """A server that asks for patience is only busy; any other failure of it is no answer."""
    if status == 503 and "Retry-After" in headers:
        return TooMany(message, _patience(headers, told))
    if NOT_A_FIELD in message:
        return Refused(message)
    return Unreachable(
        _("The cluster failed with status %(status)s: %(message)s")
        % {"status": status, "message": message}
    )


def _patience(headers: Mapping[str, str], told: Mapping[str, Any]) -> int:
    """After how many seconds to come back."""
    detail = (told.get("details") or {}).get("retryAfterSeconds")
    for text in (headers.get("Retry-After", ""), str(detail or "")):
        if text.isdigit():
            return int(text)
    return PATIENCE_SECONDS
