"""A portal that answers over a real socket, with two teams, a queue and what was used."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from portal.cli.main import main
from portal.common import clock
from portal.scheduling import services as scheduling
from portal.teams import services as teams
from portal.teams.models import User
from portal.usage import rollups
from portal.workloads.models import Workload
from tests import builders
from tests.portal.requests.world import World, a_world


@dataclass(frozen=True)
class Ended:
    """How a run of the command ended, and what it said."""

    code: int
    out: str
    err: str


HOURS = timedelta(hours=10)
Run = Callable[..., Ended]


@dataclass(frozen=True)
class Served:
    """The address, who there is, and the jobs in the queue: one fits, one is too large for any."""

    address: str
    world: World
    small: Workload
    large: Workload

    def token(self, user: User, *scopes: str) -> str:
        """A fresh token of somebody's."""
        return teams.create_token(
            user_id=user.pk, name="terminal", scopes=scopes or ("all:write",), days=1
        )


@pytest.fixture
def served(
    committed_database: str, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> Iterator[Served]:
    """Serve it in threads of this process, at nine on the Monday."""
    monkeypatch.setattr(clock, "real_now", lambda: now)
    world = a_world(now)
    builders.use(world.vision, world.pool, now - HOURS, now - HOURS / 2, 4)
    rollups.write(world.pool.cluster_id, list(rollups.hours_between(now - HOURS, now)))
    world.pool.cluster.seen_real_at = now
    world.pool.cluster.save()
    small = builders.a_workload(world.vision, world.pool, "small", submitted_at=now)
    large = builders.a_workload(world.vision, world.pool, "large", tasks=99, submitted_at=now)
    scheduling.run_tick(cluster_id=world.pool.cluster_id, now=now, real_now=now)
    server = LiveServer("127.0.0.1")
    yield Served(server.url, world, small, large)
    server.stop()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of nobody's yet, in English and in Seoul."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "EVENSHARE_ADDRESS", "EVENSHARE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command as somebody would type it."""

    def typed(*words: str) -> Ended:
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return typed


@pytest.fixture
def as_(served: Served, run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Sign somebody in by the environment, as a program would be."""

    def somebody(user: User, *scopes: str) -> Run:
        monkeypatch.setenv("EVENSHARE_ADDRESS", served.address)
        monkeypatch.setenv("EVENSHARE_TOKEN", served.token(user, *scopes))
        return run

    return somebody
