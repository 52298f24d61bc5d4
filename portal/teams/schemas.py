"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import COUNT, ID, TEXT, WHOLE, many, named, obj, one_of, or_null
from portal.teams.models import Role

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
