"""How gunicorn serves the portal: `gunicorn --config deploy/gunicorn_conf.py portal.wsgi`.

Every setting can be given on the command line instead. Counts for /metrics are added up over all
processes in a folder made anew at each start.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_CONCURRENCY", "4"))
worker_class = "gthread"
threads = 4
timeout = 60
graceful_timeout = 30
keepalive = 5
# A process that lived long is replaced, not all at once.
max_requests = 20_000
max_requests_jitter = 2_000
# Heartbeats of the processes, in memory where there is such a place.
_memory = Path("/dev/shm")  # noqa: S108  # the server makes its own file there
worker_tmp_dir = str(_memory) if _memory.is_dir() else None
control_socket_disable = True
limit_request_line = 8190

if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="evenshare-metrics-")


def child_exit(server: Any, worker: Any) -> None:
    """Keep the counts of a process that is gone, and drop what only held while it lived."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """Leave no folder behind, unless a new server took over."""
    if not server.reexec_pid:
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
