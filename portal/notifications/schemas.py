"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import COUNT, ID, INSTANT, TEXT, named, obj, one_of, or_null
from portal.common.models import Channel

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
LEAVING = named(
    "Leaving",
    obj(
        {
            "id": ID, "channel": one_of(Channel.values), "to": TEXT, "subject": TEXT,
            "created_at": INSTANT, "attempts": COUNT, "due_at": INSTANT,
            "given_up_at": or_null(INSTANT), "error": TEXT,
        }
    ),
)  # fmt: skip
AGAIN = named("Again", obj({"again": COUNT}))
