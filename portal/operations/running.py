"""Web and loop in one process tree, for a demo on a single machine: ends whole on Ctrl-C.

The web server is a child process; the loop runs here, so that one interrupt ends both. If either
dies, the other is ended too.
"""

import contextlib
import ctypes
import fcntl
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from django.conf import settings
from django.core.management.base import CommandError
from django.db import close_old_connections

from portal.common import clock
from portal.operations import history
from portal.operations.loop import Loop

log = logging.getLogger(__name__)
GRACE_SECONDS = 10
PR_SET_PDEATHSIG = 1


class Stopped(BaseException):
    """Somebody asked the process to end; like Ctrl-C, no task may take it for a fault of its own."""


def port_is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only demo that lives in this folder; the system lets go however the process ends.

    Raises `CommandError` when another one lives there, or nothing can be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = (folder / "demo.lock").open("w")
    except OSError as error:
        raise CommandError(
            f"{folder} cannot be written ({error.strerror}). "
            "Name another place: EVENSHARE_VAR=folder make demo"
        ) from error
    with mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CommandError(
                f"A demo already runs in {folder}. Stop it first, or start this one elsewhere: "
                "EVENSHARE_VAR=folder make demo PORT=8001"
            ) from error
        yield


def start_web(port: int) -> subprocess.Popen[bytes]:
    """Start the web server on loopback: one process, since SQLite has one writer."""
    return subprocess.Popen(  # noqa: S603 -- our own interpreter and our own words
        [
            sys.executable, "-m", "gunicorn", "portal.wsgi", "--bind", f"127.0.0.1:{port}",
            "--workers", "1", "--worker-class", "gthread", "--threads", "8",
            "--log-level", "warning", "--graceful-timeout", "5",
        ],
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )  # fmt: skip


def _end_with_parent() -> None:
    """Where the system can, have this process ended when its parent is killed outright."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_for_web(web: subprocess.Popen[bytes], port: int, seconds: float) -> bool:
    """Wait until the port answers; false when the server ended or took too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and web.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False


def stop_web(web: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then make it."""
    if web.poll() is None:
        web.terminate()
    try:
        web.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        web.kill()
        web.wait()


def web_and_loop(
    *, port: int, speed: int, say: Callable[[str], object], greet: Callable[[], None] = lambda: None
) -> None:
    """Serve pages and turn every cluster until `Stopped`; the organisation's time goes on.

    Raises `CommandError` when the web server does not start.
    """
    history.go_on(real_at=clock.real_now(), speed=speed)
    web = start_web(port)
    try:
        if not wait_for_web(web, port, seconds=30):
            raise CommandError("The web server did not start; its own words stand above.")
        say(f"\nEvenshare answers at http://127.0.0.1:{port}/ (Ctrl-C ends it)\n")
        greet()
        loop = Loop(simulated=True)
        every(settings.TICK_SECONDS, loop.round, while_alive=lambda: web.poll() is None)
    finally:
        stop_web(web)
        history.pause(real_at=clock.real_now(), speed=speed)


@contextlib.contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Stopped` once, and swallow it at the end of the block."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Stopped

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Stopped:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def every(seconds: float, act: Callable[[], None], *, while_alive: Callable[[], bool]) -> None:
    """Act at a steady rhythm; a round that fails is logged, one that takes too long skips none."""
    due = time.monotonic()
    while while_alive():
        try:
            act()
        except Stopped:
            raise
        except Exception:
            log.exception("a round of the loop failed; the next one tries again")
        finally:
            close_old_connections()
        due = max(due + seconds, time.monotonic())
        while time.monotonic() < due and while_alive():
            time.sleep(min(0.2, max(0.0, due - time.monotonic())))
