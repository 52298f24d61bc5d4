"""Chat rooms by the address apprise knows them under.

Only services that live at a host of their own are taken: an address with a host in it would be a
way inside.
"""

from typing import Any

from django.utils.translation import gettext as _

from portal.common import sealing
from portal.common.errors import Invalid
from portal.common.models import OutboxMessage
from portal.common.outbox import NotSent
from portal.notifications.models import SEALED, Hook

SERVICES = ("discord", "gchat", "msteams", "slack", "tgram", "workflows")


def check(address: str) -> None:
    """Raise `Invalid` for an address that is no room of a service we know."""
    scheme = address.partition("://")[0].lower()
    if scheme not in SERVICES or _room(address) is None:
        text = _("A chat's address begins with one of %(known)s and holds its keys.") % {
            "known": ", ".join(f"{name}://" for name in SERVICES)
        }
        raise Invalid(text, fields={"address": text})


def send(message: OutboxMessage) -> None:
    """Say it in the room. Raises `NotSent`."""
    hook = Hook.objects.filter(pk=int(message.address), retired_at=None).first()
    if hook is None:
        raise NotSent("the hook was retired", final=True)
    try:
        room = _room(sealing.unseal(hook.address, purpose=SEALED))
    except sealing.Unreadable:
        raise NotSent("sealed under a secret key that is gone", final=True) from None
    if room is None or not room.notify(body=message.body, title="Evenshare"):
        raise NotSent("the service did not take it")


def _room(address: str) -> Any:
    import apprise  # half a second and a hundred plugins: only where a chat is spoken to

    return apprise.Apprise.instantiate(address, suppress_exceptions=True)
