"""A worker on a machine whose clock is wrong by DRILL_SHIFT seconds.

`celery -A tests.drills.shifted worker`: the portal's own worker otherwise. The organisation's time
runs from real time, so it is wrong by as many of its own seconds.
"""

import os
from datetime import UTC, datetime, timedelta

from celery import signals

from portal.celery import app

__all__ = ["app"]

SHIFT = timedelta(seconds=float(os.environ["DRILL_SHIFT"]))


@signals.worker_process_init.connect
def _shift(**_: object) -> None:
    """In the child that works."""
    from portal.common import clock

    clock.real_now = lambda: datetime.now(tz=UTC) + SHIFT
