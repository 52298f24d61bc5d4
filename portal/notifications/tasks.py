"""The room's periodic work: tell what is new, and send what is due."""

from celery import shared_task

from portal.common import clock, outbox
from portal.common.models import Channel
from portal.notifications import services
from portal.notifications.sending import chat, mail, webhook

SENDERS: dict[str, outbox.Sender] = {
    Channel.MAIL: mail.send, Channel.WEBHOOK: webhook.send, Channel.CHAT: chat.send,
}  # fmt: skip


@shared_task(name="notifications.spread")
def spread(**_: object) -> None:
    """Turn new lines of the audit chain into news, and the news of a day into one mail."""
    while services.spread(now=clock.now(), real_now=clock.real_now()) == services.BATCH:
        pass
    services.send_digests(real_now=clock.real_now())


@shared_task(name="notifications.deliver")
def deliver(**_: object) -> None:
    """Send what is due."""
    outbox.deliver_due(SENDERS, clock=clock.real_now)


@shared_task(name="notifications.forget")
def forget(**_: object) -> None:
    """Drop what is past its keeping."""
    services.forget_old(real_now=clock.real_now())
