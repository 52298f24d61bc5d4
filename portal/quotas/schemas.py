"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    ID,
    INSTANT,
    NAMED,
    many,
    named,
    obj,
    or_null,
)

QUOTA = named(
    "Quota",
    obj(
        {
            "id": ID, "team": NAMED, "pool": ID, "guaranteed": COUNT, "limit": or_null(COUNT),
            "borrowing_limit": or_null(COUNT), "lending_limit": or_null(COUNT),
            "weight": or_null(ID), "per_user_limit": or_null(ID), "valid_from": INSTANT,
            "valid_to": or_null(INSTANT), "request": or_null(ID),
        }
    ),
)  # fmt: skip
QUOTAS = named("Quotas", obj({"results": many(QUOTA)}))
OVER_LIMIT = named(
    "OverLimit",
    obj(
        {
            "team": NAMED, "pool": or_null(ID), "from": INSTANT, "to": or_null(INSTANT),
            "limit": or_null(COUNT), "guaranteed": COUNT, "reserved": COUNT,
        }
    ),
)  # fmt: skip
