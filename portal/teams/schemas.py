"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    ID,
    INSTANT,
    TEXT,
    WHOLE,
    many,
    named,
    obj,
    one_of,
    or_null,
)
from portal.teams.models import Language, Role, Theme

ME = named(
    "Me",
    obj(
        {
            "id": ID, "username": TEXT, "name": TEXT,
            "roles": many(obj({"role": one_of(Role.values), "teams": or_null(many(ID))})),
        }
    ),
)  # fmt: skip
TEAM = named(
    "Team",
    obj(
        {
            "id": ID, "slug": TEXT, "name": TEXT, "parent": or_null(ID), "weight": COUNT,
            "priority": WHOLE,
        }
    ),
)  # fmt: skip
_HELD = obj({"id": ID, "role": one_of(Role.values), "team": or_null(ID)})
PERSON = named(
    "Person",
    obj(
        {
            "id": ID, "username": TEXT, "name": TEXT, "is_active": FLAG,
            "last_sign_in": or_null(INSTANT), "roles": many(_HELD),
        }
    ),
)  # fmt: skip
ROLE_GIVEN = named(
    "RoleGiven", obj({"username": TEXT, "role": one_of(Role.values), "team": or_null(ID)})
)
_INVITATION = {
    "id": ID, "email": TEXT, "role": one_of(Role.values), "team": or_null(ID),
    "expires_at": INSTANT,
}  # fmt: skip
INVITATION = named("Invitation", obj(_INVITATION))
INVITED = named(
    "Invited",
    obj(
        {
            "id": ID, "email": TEXT, "role": one_of(Role.values), "team": or_null(ID),
            "link": or_null(TEXT),
        }
    ),
)  # fmt: skip
PREFERENCES = named(
    "Preferences",
    obj(
        {
            "language": one_of(["", *Language.values]), "theme": one_of(["", *Theme.values]),
            "zone": TEXT,
        }
    ),
)  # fmt: skip
TOKEN = named(
    "Token",
    obj(
        {
            "id": {"type": "string", "format": "uuid"}, "name": TEXT, "scopes": many(TEXT),
            "created_at": INSTANT, "expires_at": or_null(INSTANT),
            "last_used_on": or_null({"type": "string", "format": "date"}),
        }
    ),
)  # fmt: skip
REVOKED = named("TokenRevoked", obj({"id": {"type": "string", "format": "uuid"}}))
SESSION = named(
    "Session",
    obj(
        {
            "id": ID, "address": or_null(TEXT), "browser": TEXT, "began_at": INSTANT,
            "last_seen_at": INSTANT, "is_this_one": FLAG,
        }
    ),
)  # fmt: skip
