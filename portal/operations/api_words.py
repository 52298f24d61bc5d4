"""The words the API's document is made of: what holds for every operation alike."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from portal.common.api_shapes import ID, Shape
from portal.teams.permissions import Reach

ABOUT = """\
Everything the pages do, for programs.

**Signing in.** Send a token made on the page *API tokens*: `Authorization: Bearer evenshare_…`. A
token has scopes, `<room>:read` or `<room>:write`, and never does what its owner may not. A browser's
session works as well; writes then need Django's CSRF token.

**Lists** answer `count`, `next`, `previous` and `results`; `page` begins at 1, `page_size` is 50 by
default and 200 at most. Filters stand behind the question mark, each at its list.

**Times** carry their offset. **Amounts** are whole micro-units of their currency, quantities whole
milli-GPU-seconds.

**Faults** are `application/problem+json` (RFC 9457): `code` is stable for programs, `title` is for
people, `fields` names the inputs at fault, `details` carries numbers. What is not there and what is
not for you are the same 404.

**Writing once.** Every write takes `Idempotency-Key`, at most 120 characters. The same key with the
same body gets the first answer again for 24 hours, with another body 422, and while the first is
still under way 409.

**Not overwriting others.** What can be edited answers with an `ETag`. Send it back as `If-Match`: the
edit loses with 412 when somebody was faster. Without `If-Match` the newest version is edited; moves
from one state to another are refused with 409 in any case when the state is no longer theirs.
Quotas and a cluster's mode take what was seen in the body (`seen`, `was`) and are refused alike.

**Not too fast.** Each token and each person with a session has so many requests a minute, writes
fewer; so has an address that fails to say who asks. `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` say how many; beyond,
429 with `Retry-After` in seconds.
"""
INFO = {
    "title": "Evenshare", "version": "1", "description": ABOUT,
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}  # fmt: skip
SECURITY_SCHEMES = {
    "session": {
        "type": "apiKey", "in": "cookie", "name": "sessionid",
        "description": "A browser that signed in.",
    },
    "token": {
        "type": "http", "scheme": "bearer",
        "description": "An API token; the scope it needs is named at each operation.",
    },
}  # fmt: skip
OTHER_ROOMS = {
    "operations": "The API itself", "dashboards": "Over all rooms", "studies": "Studies",
}  # fmt: skip
ANSWERS = {200: "As asked.", 201: "Made."}
REFUSALS = {
    400: "The body cannot be read, or a field of it is at fault.",
    401: "Nobody signed in, or the token does not hold.",
    403: "The token lacks the scope, or the CSRF token is missing.",
    404: "There is no such thing, or it is not for you.",
    406: "None of the media types asked for is to be had.",
    409: "The rules or somebody else's change stand in the way; `code` says which.",
    410: "There was such a thing; it is no longer kept.",
    412: "It was changed meanwhile: `If-Match` names an older version.",
    415: "The body is not of a media type that is read.",
    422: "What was asked makes no sense as asked; `fields` says where.",
    429: "Too many requests; `Retry-After` says when to go on.",
    501: "What it needs is not installed here.",
}
PAGING: tuple[tuple[str, Shape, str], ...] = (
    ("page", {**ID, "default": 1, "maximum": 10**9}, "Which page, from 1."),
    (
        "page_size",
        {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
        "How many a page.",
    ),
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 120},
    OpenApiParameter.HEADER,
    description="Makes a repeat harmless: the first answer comes again.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "examples": ['"3"', "*"]},
    OpenApiParameter.HEADER,
    description="The ETag one has seen; the edit loses with 412 when it is no longer true.",
)
REACHES = {
    Reach.ANYWHERE: "in any team",
    Reach.ORGANISATION: "for the organisation",
    Reach.TEAM: "in the team it belongs to",
    Reach.CLOSED: "nobody has",
    Reach.PUBLIC: "or none",
}
_COUNT: Shape = {"type": "integer", "minimum": 0}


def etag(status: int) -> Any:
    """The header that names the version."""
    return OpenApiParameter(
        "ETag", {"type": "string", "pattern": '^"[0-9]+"$'}, OpenApiParameter.HEADER,
        response=[status], description="The version, to be sent back as If-Match.",
    )  # fmt: skip


def rate_headers(status: int, also: list[int]) -> list[Any]:
    """What answers say of the rate."""
    told = [
        OpenApiParameter(
            f"RateLimit-{name}", _COUNT, OpenApiParameter.HEADER, response=[status, *also, 429],
            description=about,
        )
        for name, about in (
            ("Limit", "Requests a minute."),
            ("Remaining", "How many are left of them."),
            ("Reset", "In how many seconds they are all there again."),
        )
    ]  # fmt: skip
    wait = OpenApiParameter(
        "Retry-After", _COUNT, OpenApiParameter.HEADER, response=[429, *[s for s in also if s == 202]],
        description="Seconds to wait.",
    )  # fmt: skip
    return [*told, wait]


def operation_id(route: str, method: str) -> str:
    """A route's name without its api-, and what a method does to a list or a thing."""
    name = route.removeprefix("api-")
    if method == "GET":
        return name
    verb = {"POST": "create", "PUT": "replace", "PATCH": "change", "DELETE": "drop"}[method]
    if name.endswith("-list"):
        return f"{name.removesuffix('-list')}-{verb}"
    if name.endswith("-detail"):
        return f"{name.removesuffix('-detail')}-{'set' if method == 'POST' else verb}"
    return name
