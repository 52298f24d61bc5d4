"""The room's periodic work: requests nobody decided lapse, and late answers are noted."""

from celery import shared_task

from portal.common import clock
from portal.requests import answering, services


@shared_task(name="requests.expire")
def expire(**_: object) -> None:
    """Note what was answered too late, and let lapse what is due."""
    now = clock.now()
    answering.note_late(now=now)
    services.expire_due(now=now)
