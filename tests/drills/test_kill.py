"""A worker that dies anywhere in its turn leaves nothing half done: the next ends it as if calm.

One turn (collect, tick, sync) is run by a real worker on PostgreSQL and Redis, is killed with
SIGKILL at a point the seed chooses, and is then asked for again, as beat would. Compared are all
rows and the objects in the cluster with those of a worker that nobody killed.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from celery import Celery
from django.core.cache.backends.redis import RedisCache
from django.test import override_settings

from portal.common import clock
from portal.common.models import Lease
from portal.inventory import services as inventory
from portal.inventory.models import Cluster
from portal.kubernetes import ports
from portal.kubernetes import services as kubernetes
from portal.operations import heartbeats
from portal.quotas import services as quotas
from portal.reservations import services as reservations
from portal.scheduling import services as scheduling
from tests import scratch
from tests.drills import state
from tests.portal.kubernetes.world import START, a_registered, a_spec, pool_of
from tests.production import Production, wait_until

pytestmark = pytest.mark.services
FEW, MANY = 2, int(os.environ.get("KILLS", "30"))
MINUTE = timedelta(minutes=1)
NOW = START + 30 * MINUTE
TURN = ("kubernetes.collect_cluster", "scheduling.tick_cluster", "kubernetes.sync_cluster")


@dataclass
class Ground:
    """A cluster in the middle of its life, at the moment before a turn with much to do."""

    production: Production
    cluster: Cluster
    writes: list[int] = field(default_factory=list)
    """At which points of the last turn a write to the cluster had just been made."""

    def turn(self, *, kill: int = 0, times: int = 1) -> int:
        """Have a worker run the turn to its end, or to its death; gives the points it passed."""
        points = self.production.folder / "points"
        told = {"DRILL_NOW": NOW.isoformat(), "DRILL_KILL": str(kill), "DRILL_POINTS": str(points)}
        queue = Celery(broker=self.production.broker, set_as_current=False)
        for name in TURN * times:
            queue.send_task(name, kwargs={"cluster_id": self.cluster.pk}, queue="clusters")
        # The last of the queue says that it is empty; what an earlier turn left comes before.
        mark = f"turn-{time.monotonic_ns()}"
        queue.send_task("operations.heartbeat", kwargs={"queue": mark}, queue="clusters")
        heart = RedisCache(self.production.cache, {})
        with self.production.worker(
            app="tests.drills.victim", stop=signal.SIGKILL, **told
        ) as worker:
            if kill:
                wait_until(lambda: worker.poll() is not None, "its death")
                assert worker.returncode == -signal.SIGKILL
                # Before somebody comes, what beat asked for has expired.
                self.production.redis.delete("clusters")
                return kill
            wait_until(lambda: heart.get(heartbeats.KEY.format(queue=mark)), "the end of its turn")
        self.writes = json.loads(points.read_text())["writes"]
        return int(json.loads(points.read_text())["passed"])

    def state(self) -> dict[str, Any]:
        """What stands now."""
        path = ports.simulated_file(self.cluster)
        ports.forget(path)
        return state.of(ports.open_simulated(path))


@dataclass
class Grounds:
    """What a ground is copied from."""

    template: str
    broker: str
    folder: Path
    cluster: Cluster
    made: int = 0

    @contextmanager
    def fresh(self) -> Iterator[Ground]:
        """A ground as prepared."""
        self.made += 1
        folder = self.folder / f"ground-{self.made}"
        folder.mkdir()
        for path in self.folder.glob("lab.cluster*"):
            shutil.copy(path, folder)
        with (
            scratch.database(self.template, folder) as url,
            override_settings(VAR_DIR=folder),
        ):
            production = Production(
                database=url, broker=self.broker, folder=folder, EVENSHARE_LEASE_SECONDS="1"
            )
            yield Ground(production, self.cluster)


@pytest.fixture
def grounds(committed_database: str, broker: str, tmp_path: Path) -> Iterator[Grounds]:
    """As many equal grounds as a test wants, each with its own database and cluster."""
    with override_settings(VAR_DIR=tmp_path):
        cluster = _prepare(tmp_path)
        ports.forget(ports.simulated_file(cluster))
        with scratch.template(tmp_path) as template:
            yield Grounds(template, broker, tmp_path, cluster)


def _prepare(folder: Path) -> Cluster:
    """Jobs run, end and wait, a reservation opens, quotas were changed, a machine has gone."""
    cluster, port = a_registered(folder)
    kubernetes.collect(cluster_id=cluster.pk, now=START)
    pool = pool_of(cluster, "a100")
    teams = {
        slug: cluster.namespaces.get(name=slug).owners.get().team for slug in ("vision", "speech")
    }
    for slug, gpus in (("vision", 4), ("speech", 2)):
        _promise(teams[slug].pk, pool.pk, gpus, START)
    for number in range(8):
        port.submit(
            a_spec(f"job-{number}", gpus=1 + number % 4, work=600 + 400 * number,
                   namespace=("vision", "speech")[number % 2])
        )  # fmt: skip
    now = START
    for minute in range(1, 20, 3):
        now = START + minute * MINUTE
        kubernetes.collect(cluster_id=cluster.pk, now=now)
        scheduling.run_tick(cluster_id=cluster.pk, now=now)
        kubernetes.sync_cluster(cluster_id=cluster.pk, now=now)
    reservations.hold(
        team_id=teams["speech"].pk, pool_id=pool.pk, gpus=4, starts_at=NOW - MINUTE,
        ends_at=NOW + 60 * MINUTE, zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip
    _promise(teams["vision"].pk, pool.pk, 2, now)
    inventory.cordon(node_id=pool.nodes.order_by("id")[0].pk)
    port.submit(a_spec("late", gpus=2, namespace="speech"))
    return cluster


def _promise(team_id: int, pool_id: int, gpus: int, now: Any) -> None:
    quotas.change(
        team_id=team_id, pool_id=pool_id, guaranteed=gpus, limit=12, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip


def _no_lease_is_held() -> bool:
    return not Lease.objects.filter(expires_at__gt=clock.real_now()).exists()


def _kill_at(grounds: Grounds, choose: Callable[[int, list[int]], list[int]]) -> None:
    """Kill a worker at each of the chosen points, and compare with one that nobody killed."""
    with grounds.fresh() as ground:
        points = ground.turn()
        writes = ground.writes
        ground.turn()
        calm = ground.state()
    assert points > 100
    assert len(writes) > 3
    for kill in choose(points, writes):
        with grounds.fresh() as ground:
            ground.turn(kill=kill)
            wait_until(_no_lease_is_held, "the dead worker's lease to run out")
            ground.turn(times=2)
            after = ground.state()
        for name in calm:
            assert after[name] == calm[name], f"{name} after a kill at {kill} of {points}"
        assert after.keys() == calm.keys()


def _random(seeds: int) -> Callable[[int, list[int]], list[int]]:
    return lambda points, _writes: [Random(seed).randint(1, points) for seed in range(seeds)]


def test_a_worker_killed_anywhere_in_its_turn_ends_as_a_calm_one(grounds: Grounds) -> None:
    _kill_at(grounds, _random(FEW))


def test_what_a_worker_wrote_before_it_was_killed_is_told_all_the_same(grounds: Grounds) -> None:
    _kill_at(grounds, lambda _points, writes: [writes[len(writes) // 2]])


@pytest.mark.drill
def test_a_worker_killed_at_many_points_ends_as_a_calm_one(grounds: Grounds) -> None:
    _kill_at(grounds, _random(MANY))


@pytest.mark.drill
def test_a_worker_killed_after_any_of_its_writes_has_told_them(grounds: Grounds) -> None:
    _kill_at(grounds, lambda _points, writes: writes)
