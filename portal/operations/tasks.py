"""The room's periodic work: saying that the queues are served, and upkeep that is due by its report."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from portal.common import clock, leases
from portal.operations import heartbeats, reports, upkeep

DAILY = timedelta(hours=23)
AT_MOST_SECONDS = 600


@shared_task(name="operations.heartbeat")
def heartbeat(*, queue: str = "chores", **_: object) -> None:
    """Note that beat asked and a worker of this queue answered."""
    heartbeats.note(queue=queue, now=clock.real_now())


@shared_task(name="operations.upkeep")
def keep_up(**_: object) -> None:
    """Follow the audit chain; once a day forget what is past its time. One worker at a time."""
    with leases.holding(name="upkeep", seconds=AT_MOST_SECONDS) as lease:
        if lease is None:
            return
        real_now = clock.real_now()
        upkeep.verify_audit(now=real_now)
        if reports.is_due(reports.PRUNE, every=DAILY, now=real_now):
            upkeep.prune(keep_days=settings.KEEP_DAYS, now=clock.now(), real_now=real_now)
