"""A worker with one more task, which kills the process that runs it.

`celery -A tests.drills.poisoned worker`: the portal's own worker otherwise.
"""

import os
import signal

from portal.celery import app

__all__ = ["app"]


@app.task(name="drill.poison")
def poison() -> None:
    """As a job does that takes more memory than there is."""
    os.kill(os.getpid(), signal.SIGKILL)
