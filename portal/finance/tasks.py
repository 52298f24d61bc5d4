"""The room's periodic work: the ledger's hourly sums and the open months' statements, up to now."""

from celery import shared_task

from portal.common import clock
from portal.finance import services
from portal.usage import services as usage


@shared_task(name="finance.reckon")
def reckon(**_: object) -> None:
    """Bring the hourly sums up to date and work out every month that is not closed.

    Then note the budgets that passed a mark, and print what was left to print.
    """
    usage.roll_up()
    now = clock.now()
    services.compute_open(now=now)
    services.note_alerts(now=now)
    services.print_due(now=now)


@shared_task(name="finance.print")
def print_statements(**_: object) -> None:
    """Lay out the statements somebody wants on paper."""
    services.print_due(now=clock.now())
