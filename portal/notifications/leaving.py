"""What is on its way out and what was given up, for those who look after the installation."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from portal.common.models import Channel, OutboxMessage
from portal.notifications.models import Hook
from portal.notifications.sending.mail import NO_SERVER


@dataclass(frozen=True, slots=True)
class Leaving:
    """One message: to whom, how often it was tried, and why it is not there; never its text."""

    id: int
    channel: Channel
    to: str
    subject: str
    created_at: datetime
    attempts: int
    due_at: datetime
    given_up_at: datetime | None
    error: str


def query(*, given_up: bool) -> QuerySet[OutboxMessage]:
    """Return what was given up, or what still waits, newest first."""
    rows = OutboxMessage.objects.filter(sent_at=None, given_up_at__isnull=not given_up)
    return rows.order_by("-pk")


def list_rows(messages: list[OutboxMessage]) -> list[Leaving]:
    """Return these with the names of hooks: one query for all."""
    hooks = [int(m.address) for m in messages if m.channel != Channel.MAIL]
    names = dict(Hook.objects.filter(pk__in=hooks).values_list("pk", "name"))
    return [
        Leaving(
            id=m.pk, channel=Channel(m.channel), subject=m.subject, created_at=m.created_at,
            to=m.address if m.channel == Channel.MAIL else names.get(int(m.address), m.address),
            attempts=m.attempts, due_at=m.due_at, given_up_at=m.given_up_at, error=m.error,
        )
        for m in messages
    ]  # fmt: skip


def why(row: Leaving) -> str:
    """Return why it is not there, in the reader's language where it is a reason of ours."""
    return _("There is no mail server.") if row.error == NO_SERVER else row.error
