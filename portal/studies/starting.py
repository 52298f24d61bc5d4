"""Starts the process that studies run in, and tells whoever should start one.

Where there is a broker, a worker of the queue `studies` starts the process and waits for it, so
that as many run as there are workers, and no other task is kept waiting. An embedded installation
has no workers: whoever asks for a study starts the process, and the loop starts it again where it
died. The process is niced, sees neither terminal nor sockets, and ends with its parent.
"""

import contextlib
import logging
import os
import resource
import subprocess
import sys
import threading

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)
TASK = "studies.run"
QUEUE = "studies"
MIB = 1 << 20


def wake() -> None:
    """Have the next study run soon; lost, this costs one period of the table and nothing else."""
    if settings.CELERY_TASK_ALWAYS_EAGER:
        threading.Thread(target=spawn().wait, daemon=True, name="study-reaper").start()
        return
    try:
        current_app.send_task(TASK, queue=QUEUE, expires=settings.CHORE_SECONDS)
    except OperationalError:
        log.warning("no broker answers; the study is started by the next round of the table")


def spawn() -> subprocess.Popen[bytes]:
    """Start the process that runs studies until none waits."""
    # One thread for numpy: each reserves address space that the limit counts.
    own = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    module = os.environ.get("DJANGO_SETTINGS_MODULE", "portal.settings")
    return subprocess.Popen(  # noqa: S603 -- our own interpreter and our own words
        [sys.executable, "-m", "django", "study", "--parent", str(os.getpid())],
        cwd=settings.BASE_DIR, env={**os.environ, **own, "DJANGO_SETTINGS_MODULE": module},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def keep_small() -> None:
    """Hold this process to the memory a study may take, and behind everything else."""
    with contextlib.suppress(OSError):
        os.nice(10)
    most = settings.STUDY_MIB * MIB
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
