"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import COUNT, ID, INSTANT, TEXT, named, obj, or_null

NEWS = named(
    "News",
    obj(
        {
            "id": ID, "at": INSTANT, "kind": TEXT, "action": TEXT, "text": TEXT,
            "target": obj({"type": TEXT, "id": or_null({"type": ["integer", "string"]})}),
            "team": or_null(ID), "read_at": or_null(INSTANT),
        }
    ),
)  # fmt: skip
UNREAD = named("Unread", obj({"unread": COUNT}))
