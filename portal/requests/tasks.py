"""The room's periodic work: requests nobody decided lapse."""

from celery import shared_task

from portal.common import clock
from portal.requests import services


@shared_task(name="requests.expire")
def expire(**_: object) -> None:
    """Let lapse what is due."""
    services.expire_due(now=clock.now())
