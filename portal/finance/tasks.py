"""The room's periodic work: the open months' statements, up to now."""

from celery import shared_task

from portal.common import clock
from portal.finance import services


@shared_task(name="finance.reckon")
def reckon(**_: object) -> None:
    """Work out every month that is not closed."""
    services.compute_open(now=clock.now())
