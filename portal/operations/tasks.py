"""The room's periodic work: saying that the queues are served."""

from celery import shared_task

from portal.common import clock
from portal.operations import heartbeats


@shared_task(name="operations.heartbeat")
def heartbeat(*, queue: str = "chores", **_: object) -> None:
    """Note that beat asked and a worker of this queue answered."""
    heartbeats.note(queue=queue, now=clock.real_now())
