"""A watcher that dies anywhere leaves no second of use out and counts none twice.

The cluster's own books are kept here, by who was bound and ended when; the ledger must say the
same, however often the watcher was killed in the middle of a statement and begun again.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import connection

from portal.common import clock
from portal.inventory.models import Cluster
from portal.kubernetes.watching import streams
from portal.usage.models import LedgerEntry
from tests.api_server import controllers, serving
from tests.api_server.controllers import at
from tests.api_server.serving import ApiServer
from tests.portal.kubernetes import watched
from tests.portal.kubernetes.watched import Watched, states, submit

pytestmark = pytest.mark.django_db
STEPS = 14
FEW, MANY = range(2), range(2, int(os.environ.get("KILLS", "30")))
GRID = timedelta(minutes=5)


class Killed(BaseException):
    """What SIGKILL does, as far as this process can do it to itself."""


@dataclass
class Time:
    """One clock for the cluster and for us."""

    now: datetime = datetime(2026, 11, 2, 9, 0, 7, tzinfo=UTC)

    def go_on(self, seconds: int) -> None:
        """Let it be later."""
        self.now += timedelta(seconds=seconds)


@dataclass
class Life:
    """A cluster in which things happen, its books, and whoever watches it."""

    server: ApiServer
    cluster: Cluster
    time: Time
    chance: Random
    held: dict[str, list[datetime | None]] = field(default_factory=dict)
    watch: Watched | None = None
    kills: int = 0

    def happen(self, number: int) -> None:
        """Something, at a second of its own."""
        store = self.server.store
        self.time.go_on(self.chance.randint(1, 400))
        how = self.chance.choice(["submit", "submit", "finish", "delete", "fail"])
        match how:
            case "submit":
                submit(store, f"job-{number}", self.chance.randint(1, 3), self.chance.randint(1, 3))
            case "finish" | "fail":
                running = [p for p in store.all("Pod") if p["status"].get("phase") == "Running"]
                if running:
                    controllers.finish(store, self.chance.choice(running), failed=how == "fail")
            case _:
                jobs = store.all("Job")
                if jobs:
                    store.delete(at("Job", self.chance.choice(jobs)["metadata"]["name"], "vision"))
        self.keep_books()
        controllers.settle(store)
        self.keep_books()

    def keep_books(self) -> None:
        """Who holds devices from now on, and who did until now."""
        holds = {
            p["metadata"]["uid"]
            for p in self.server.store.all("Pod")
            if p["spec"].get("nodeName") and p["status"].get("phase") in ("Pending", "Running")
        }
        for uid in holds - self.held.keys():
            self.held[uid] = [self.time.now, None]
        for uid, times in self.held.items():
            if uid not in holds and times[1] is None:
                times[1] = self.time.now

    def live(self) -> None:
        """Watch until in step, unless killed on the way."""
        fuse = self.chance.choice([0, self.chance.randint(1, 60)])
        with connection.execute_wrapper(_Fuse(fuse)):
            try:
                self.last().in_step()
            except Killed:
                self.kills += 1
                if self.watch is not None:
                    self.watch.kill()
                self.watch = None

    def last(self) -> Watched:
        """Whoever watches now, or a new one."""
        if self.watch is None:
            self.watch = watched.begin(self.cluster, self.server, beat_seconds=0.05)
        return self.watch

    def books(self, until: datetime) -> dict[str, int]:
        """Seconds by pod."""
        found: Counter[str] = Counter()
        for uid, (begun, ended) in self.held.items():
            assert begun is not None
            found[uid] = int(((ended or max(until, begun)) - begun).total_seconds())
        return {uid: seconds for uid, seconds in found.items() if seconds}


@dataclass
class _Fuse:
    """Kills at a statement; 0 never."""

    left: int

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.split(" ", 1)[0] not in ("SAVEPOINT", "RELEASE", "ROLLBACK"):
            self.left -= 1
            if self.left == 0:
                raise Killed
        return execute(sql, params, many, context)


def ledger() -> dict[str, int]:
    """Seconds by pod, corrections taken off."""
    found: Counter[str] = Counter()
    for row in LedgerEntry.objects.all():
        found[row.pod_uid] += row.sign * row.seconds
    return {uid: seconds for uid, seconds in found.items() if seconds}


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """A clock in our hands."""
    found = Time()
    monkeypatch.setattr(clock, "real_now", lambda: found.now)
    monkeypatch.setattr(streams, "FIRST_WAIT", 0.02)
    return found


@pytest.fixture
def server(time: Time) -> Iterator[ApiServer]:
    """An API server by that clock."""
    with serving.serving(bookmark_seconds=0.05) as running:
        running.store.now = lambda: time.now
        yield running


def test_a_pod_that_outlives_its_job_is_another_job_and_in_the_ledger_once(
    server: ApiServer, time: Time, tmp_path: Path
) -> None:
    cluster = watched.a_cluster(server, tmp_path)
    life = Life(server, cluster, time, Random(1))
    watch = life.last()
    watch.in_step()
    submit(server.store, "train", gpus=2)
    controllers.settle(server.store)
    life.keep_books()
    for seconds in (1000, 130):
        watch.in_step()
        time.go_on(seconds)
        watch.until(lambda: Cluster.objects.get().seen_at == time.now)
    # Deleted as a script does that asks for no cascade.
    [pod] = server.store.all("Pod")
    server.store.merge(controllers.of(pod), {"metadata": {"ownerReferences": None}})
    server.store.delete(at("Job", "train", "vision"))
    watch.in_step()
    time.go_on(1000)
    [pod] = server.store.all("Pod")
    controllers.finish(server.store, pod)
    life.keep_books()
    watch.until(lambda: set(states().values()) == {"cancelled", "succeeded"})
    watch.until(lambda: Cluster.objects.get().seen_at == time.now)
    watch.leave()
    assert ledger() == life.books(time.now)
    assert len({row.workload_id for row in LedgerEntry.objects.all()}) == 2


@pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.drill) for seed in MANY)]
)
def test_the_ledger_is_the_clusters_own_books_however_often_the_watcher_dies(
    server: ApiServer, time: Time, tmp_path: Path, seed: int
) -> None:
    cluster = watched.a_cluster(server, tmp_path, nodes=4)
    life = Life(server, cluster, time, Random(seed))
    # What ended before anybody ever looked is in nobody's books but the cluster's.
    life.last().in_step()
    for number in range(STEPS):
        for _ in range(life.chance.randint(1, 3)):
            life.happen(number * 10 + _)
        life.live()
    time.go_on(600)
    last = life.last()
    last.in_step()
    last.until(lambda: Cluster.objects.get().seen_at == time.now)
    last.leave()
    until = time.now - (time.now - datetime(1970, 1, 1, tzinfo=UTC)) % GRID
    assert ledger() == life.books(until)
    assert life.kills
    assert len(life.held) > STEPS // 2
