"""The room's work: run what waits in a process of its own; put back what lost its process."""

from celery import shared_task

from portal.common import clock
from portal.studies import services, starting


# The process keeps to its own limit for each study and runs all that wait.
@shared_task(name=starting.TASK, acks_late=False, time_limit=86_400)
def run(**_: object) -> None:
    """Start the process that runs studies, and stay until it has ended."""
    starting.spawn().wait()


@shared_task(name="studies.tend")
def tend(**_: object) -> None:
    """Put back what lost its process, forget what is past its time, start what waits."""
    services.tend(real_now=clock.real_now())
    if services.is_start_due(real_now=clock.real_now()):
        starting.wake()
