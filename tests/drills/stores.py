"""A PostgreSQL and a Redis of a drill's own, which may be killed, stopped, emptied and started."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest
from redis import Redis, RedisError

from tests import services, with_services
from tests.with_services import as_postgres, free_port, program

CONNECTIONS = 40
_numbers = count(1)


@dataclass
class Postgres:
    """A server with one migrated database to copy."""

    home: Path
    port: int = field(default_factory=free_port)

    def url(self, name: str = "postgres") -> str:
        """Where a database of it is."""
        return f"postgresql://evenshare@127.0.0.1:{self.port}/{name}"

    def create(self) -> None:
        """Make and start it."""
        data = self.home / "pg"
        data.mkdir()
        self.home.chmod(0o755)
        if as_postgres([]):
            shutil.chown(data, "postgres", "postgres")
        words = ["-U", "evenshare", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run(program("initdb"), "-D", str(data), *words)
        self.start()

    def start(self) -> None:
        """Start it, on the port it always has."""
        options = (
            f"-p {self.port} -k {self.home / 'pg'} -c listen_addresses=127.0.0.1 -c fsync=off "
            f"-c max_connections={CONNECTIONS}"
        )
        self._control("-l", str(self.home / "pg/log"), "-w", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        """End it, by default as a power cut would."""
        self._control("-m", how, "stop")

    def restart(self) -> None:
        """Die and come back."""
        self.stop()
        self.start()

    @contextmanager
    def copy(self, template: str) -> Iterator[str]:
        """A database made from another; gives its name."""
        name = f"drill_{next(_numbers)}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        yield name
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def execute(self, command: str) -> None:
        """Give the server a command that no transaction may surround."""
        with psycopg.connect(self.url(), autocommit=True) as server:
            server.execute(command.encode())

    def hold_all(self) -> list[psycopg.Connection]:
        """Open connections until there are no more."""
        held: list[psycopg.Connection] = []
        while len(held) < CONNECTIONS:
            try:
                held.append(psycopg.connect(self.url()))
            except psycopg.OperationalError:
                break
        return held

    def _control(self, *words: str) -> None:
        self._run(program("pg_ctl"), "-D", str(self.home / "pg"), *words)

    def _run(self, *command: str) -> None:
        # Words go nowhere: a server would hold a pipe open for as long as it lives.
        subprocess.run(
            as_postgres(list(command)), check=True, cwd=self.home / "pg",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


@dataclass
class Broker:
    """A Redis that keeps nothing on disk."""

    home: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, on the port it always has."""
        command = [program("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        self.process = subprocess.Popen(
            [*command, "--save", "", "--appendonly", "no", "--dir", str(self.home)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + 20
        while not self._answers():
            assert time.monotonic() < until, "no Redis"
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL: what it held is gone."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def restart(self) -> None:
        """Die and come back empty."""
        self.kill()
        self.start()

    def flush(self) -> None:
        """Forget everything, caches too."""
        with Redis.from_url(self.url) as server:
            server.flushall()

    def _answers(self) -> bool:
        try:
            with Redis.from_url(self.url) as server:
                return bool(server.ping())
        except RedisError:
            return False


@dataclass
class Stores:
    """Both."""

    postgres: Postgres
    broker: Broker


def missing() -> list[str]:
    """Programs without which there are none."""
    return [name for name in with_services.NEEDED if services.where(name) is None]


@contextmanager
def running() -> Iterator[Stores]:
    """Both, until the end of the block; skipped by name where a program is missing."""
    if lacking := missing():
        pytest.skip(f"needs {' and '.join(lacking)}")
    # Not in pytest's own folder, which only one user may enter.
    with tempfile.TemporaryDirectory(prefix="evenshare-") as name:
        home = Path(name)
        stores = Stores(Postgres(home), Broker(home))
        stores.postgres.create()
        stores.broker.start()
        try:
            yield stores
        finally:
            stores.broker.kill()
            stores.postgres.stop()
