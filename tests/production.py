"""An installation as it runs in production, for tests: PostgreSQL, Redis, workers and beat."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 60
CACHES = 8
"""The first of the databases that are caches."""
KEPT = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")


class Production:
    """The environment its processes get, and the processes."""

    def __init__(self, *, database: str, broker: str, folder: Path, **settings: str) -> None:
        # Each worker of pytest-xdist has a database of the server to itself.
        number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        self.broker = f"{broker.rpartition('/')[0]}/{number}"
        self.redis = Redis.from_url(self.broker)
        self.redis.flushdb()
        self.cache = f"{broker.rpartition('/')[0]}/{number + CACHES}"
        Redis.from_url(self.cache).flushdb()
        self.folder = folder
        self.environment = {
            **{name: os.environ[name] for name in KEPT if name in os.environ},
            "DATABASE_URL": database, "EVENSHARE_BROKER": self.broker,
            "EVENSHARE_CACHE": self.cache,
            "EVENSHARE_EMBEDDED": "no", "EVENSHARE_SECRET_KEY": "s" * 60,
            # Celery warns whoever is root, before it knows how lines are to look.
            "PYTHONWARNINGS": "ignore",
            "EVENSHARE_HOSTS": "localhost", "EVENSHARE_VAR": str(folder), **settings,
        }  # fmt: skip

    @contextmanager
    def worker(
        self, *options: str, app: str = "portal", stop: signal.Signals = signal.SIGTERM,
        **more: str,
    ) -> Iterator[subprocess.Popen[bytes]]:  # fmt: skip
        """Run a worker; its lines go to a file of the folder."""
        words = ["worker", "--concurrency", "1", "--without-gossip", "--without-mingle", *options]
        with self._celery(app, words, stop, more) as process:
            yield process

    @contextmanager
    def beat(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run beat, whose rhythm the settings name."""
        with self._celery("portal", ["beat", "--max-interval", "1"], signal.SIGTERM, {}) as beat:
            yield beat

    @contextmanager
    def _celery(
        self, app: str, words: list[str], stop: signal.Signals, more: dict[str, str]
    ) -> Iterator[subprocess.Popen[bytes]]:
        log = self.folder / f"{words[0]}-{time.monotonic_ns()}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", app, *words],
                env={**self.environment, **more}, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield process
        finally:
            end(process, stop)

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *words], env=self.environment, cwd=ROOT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def waiting(self) -> int:
        """Messages in all queues."""
        return sum(int(self.redis.llen(queue)) for queue in ("clusters", "chores", "studies"))

    def lines(self) -> list[str]:
        """What its processes wrote."""
        return [
            line
            for path in sorted(self.folder.glob("*.log"))
            for line in path.read_text().splitlines()
        ]


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a process with its children, and wait for it."""
    try:
        if how is signal.SIGTERM:
            process.terminate()
        else:
            os.killpg(process.pid, how)
        process.wait(PATIENCE_SECONDS)
    except ProcessLookupError:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)


def wait_until(true: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Look every tenth of a second until it is so."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.1)
