"""What is to be sent to the world, kept as rows beside the change that caused it.

A message is put in the same transaction as the change, under a key that makes it that message: put
twice it is there once. A chore sends what is due and marks it. A message is claimed before it is
sent, so two senders never take the same one; what a sender that died had claimed is sent again
when its claim runs out, under the same key, by which a receiver knows it for the same. Of what was
sent the text is forgotten: it may hold a link that opens something.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q, QuerySet

from portal.common.models import Channel, OutboxMessage

CLAIM = timedelta(minutes=5)
WAITS = tuple(timedelta(minutes=m) for m in (1, 2, 5, 15, 30, 60, 120, 240, 360))
"""How long after each failed attempt the next one comes; the last repeats."""
GIVE_UP = timedelta(days=3)
KEPT = timedelta(days=90)
BATCH = 100


class NotSent(Exception):
    """A message was not taken. `final`: trying again makes no sense."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.final = final


Sender = Callable[[OutboxMessage], None]


@dataclass(frozen=True, slots=True)
class Delivered:
    """How a round of sending went, in messages."""

    sent: int = 0
    failed: int = 0


def has_mail_server() -> bool:
    """Whether mail leaves at all: where no server is named, it goes nowhere."""
    return not settings.EMAIL_BACKEND.endswith(".dummy.EmailBackend")


def put(
    *, key: str, channel: Channel, address: str, subject: str, body: str, real_now: datetime
) -> bool:
    """Keep a message to be sent; false when it was put before."""
    _row, new = OutboxMessage.objects.get_or_create(
        key=key,
        defaults={
            "channel": channel, "address": address, "subject": subject, "body": body,
            "created_at": real_now, "due_at": real_now,
        },
    )  # fmt: skip
    return new


def deliver_due(senders: Mapping[str, Sender], *, clock: Callable[[], datetime]) -> Delivered:
    """Send what is due, one by one, outside any transaction; one that fails stops no other."""
    sent = failed = 0
    now = clock()
    OutboxMessage.objects.filter(created_at__lt=now - KEPT).exclude(
        sent_at=None, given_up_at=None
    ).delete()
    for number in list(_due(now).values_list("pk", flat=True)[:BATCH]):
        message = _claim(number, clock())
        if message is None:
            continue
        if _send(message, senders, clock):
            sent += 1
        else:
            failed += 1
    return Delivered(sent, failed)


def try_again(*, message_id: int | None, real_now: datetime) -> int:
    """Let one that was given up, or without an id all of them, be sent once more; how many."""
    given_up = OutboxMessage.objects.filter(given_up_at__isnull=False)
    if message_id is not None:
        given_up = given_up.filter(pk=message_id)
    return given_up.update(given_up_at=None, created_at=real_now, due_at=real_now, attempts=0)


def _due(now: datetime) -> QuerySet[OutboxMessage]:
    waiting = OutboxMessage.objects.filter(sent_at=None, given_up_at=None, due_at__lte=now)
    return waiting.filter(Q(claimed_until=None) | Q(claimed_until__lte=now)).order_by(
        "due_at", "pk"
    )


def _claim(number: int, now: datetime) -> OutboxMessage | None:
    """Win the message, or None when another sender was faster."""
    if (
        not _due(now)
        .filter(pk=number)
        .update(claimed_until=now + CLAIM, attempts=F("attempts") + 1)
    ):
        return None
    return OutboxMessage.objects.get(pk=number)


def _send(
    message: OutboxMessage, senders: Mapping[str, Sender], clock: Callable[[], datetime]
) -> bool:
    row = OutboxMessage.objects.filter(pk=message.pk)
    try:
        senders[message.channel](message)
    except NotSent as fault:
        now = clock()
        over = fault.final or now - message.created_at >= GIVE_UP
        wait = WAITS[min(message.attempts, len(WAITS)) - 1]
        row.update(
            error=fault.reason[:400], claimed_until=None, due_at=now + wait,
            given_up_at=now if over else None,
        )  # fmt: skip
        return False
    row.update(sent_at=clock(), claimed_until=None, error="", body="")
    return True
