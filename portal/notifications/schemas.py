"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import COUNT, ID, INSTANT, TEXT, many, named, obj, one_of, or_null
from portal.common.models import Channel
from portal.notifications.kinds import BY_NAME
from portal.notifications.models import Hook, Mailing

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
WISHES = named("Wishes", obj(dict.fromkeys(BY_NAME, one_of(Mailing.values))))
WISHES_BODY = named("WishesBody", obj({}, maybe=dict.fromkeys(BY_NAME, one_of(Mailing.values))))
HOOK = named(
    "Hook",
    obj(
        {
            "id": ID, "name": TEXT, "way": one_of(Hook.Way.values), "where": TEXT,
            "kinds": many(TEXT), "team": or_null(ID), "waiting": COUNT,
            "last_sent_at": or_null(INSTANT), "error": or_null(TEXT),
        }
    ),
)  # fmt: skip
HOOK_ADDED = named("HookAdded", obj({"name": TEXT, "secret": or_null(TEXT)}))
