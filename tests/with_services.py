"""Runs a command with a PostgreSQL and a Redis of its own: `with_services.py COMMAND ...`.

Both live in a temporary folder on loopback ports nobody else uses, and end with the command, which
finds them in DATABASE_URL and TEST_BROKER. Only workers that a test starts are given the broker:
inside the tests a task asked for runs at once. As root, PostgreSQL runs as the user `postgres`.
Where one of the two is missing the command does not run: under CI=true that is a failure.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests import services

PATIENCE_SECONDS = 30
NEEDED = ("initdb", "pg_ctl", "redis-server")


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str) -> str:
    """Where a program is that is known to be there."""
    found = services.where(name)
    assert found is not None
    return found


def as_postgres(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """Give the address of a new, empty server."""
    data, port = home / "pg", free_port()
    data.mkdir()
    if os.geteuid() == 0:
        home.chmod(0o755)
        shutil.chown(data, "postgres", "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "check": True, "cwd": data}
    initdb = [program("initdb"), "-D", str(data), "-U", "evenshare", "-A", "trust", "-E", "UTF8"]
    subprocess.run(as_postgres([*initdb, "--locale=C.UTF-8", "--no-sync"]), **quiet)  # type: ignore[call-overload]
    options = (
        f"-p {port} -k {data} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=100"
    )
    control = as_postgres([program("pg_ctl"), "-D", str(data), "-l", str(data / "log"), "-w"])
    subprocess.run([*control, "-o", options, "start"], **quiet)  # type: ignore[call-overload]
    try:
        yield f"postgresql://evenshare@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]


@contextmanager
def redis(home: Path) -> Iterator[str]:
    """Give the address of a new, empty server that keeps nothing on disk."""
    port = free_port()
    command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
    server = subprocess.Popen(
        [*command, "--save", "", "--appendonly", "no", "--dir", str(home)],
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing answers on port {port}")


def main(command: list[str]) -> int:
    """Run the command between the two and give back its exit status."""
    missing = [name for name in NEEDED if services.where(name) is None]
    if missing:
        sys.stderr.write(f"skipped, {' and '.join(missing)} missing: {' '.join(command)}\n")
        return 1 if os.environ.get("CI") == "true" else 0
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenshare-")))
        database = stack.enter_context(postgresql(home))
        broker = stack.enter_context(redis(home))
        environment = {**os.environ, "DATABASE_URL": database, "TEST_BROKER": broker}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
