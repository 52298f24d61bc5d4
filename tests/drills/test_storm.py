"""A storm over a whole cluster ends where a calm run does.

Namespaces full of jobs, the policy changed twice, and meanwhile: the API server killed and started
again in the middle of a sync, a worker and the watcher killed with SIGKILL. At the end every quota,
class and label is as after a run in which nothing went wrong; no write was sent twice in vain, and
at no instant was more granted than approved. `make drills` runs it with 300 namespaces and 3,000
jobs on a real control plane where KUBEBUILDER_ASSETS names one, smaller on the fake otherwise.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from portal.common.models import Lease
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind, Pool
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import SyncRun, SyncState, SyncWrite
from portal.kubernetes.port import FENCE, ClusterError
from portal.quotas import services as quotas
from portal.quotas.services import Wanted
from portal.scheduling import services as scheduling
from portal.workloads.models import Workload
from tests import builders
from tests.drills.grounds import GPUS, POOL, Ground, Guard, a_ground, active
from tests.production import end, wait_until

ROOT = Path(__file__).resolve().parents[2]
PER_TEAM, JOBS_EACH = 5, 10
LEASE_SECONDS = "3"
WAIT_SECONDS = 600.0
POLICIES = ((12, 12), (16, 6), (4, 18))
"""What even and odd teams are guaranteed, first and after each change."""


@dataclass
class Storm:
    """One run from an empty cluster to its end, in a database of its own."""

    ground: Ground
    cluster: Cluster
    database: str
    folder: Path
    teams: dict[str, int]
    chance: random.Random
    rough: bool
    approved: Counter[str] = field(default_factory=Counter)
    now_approved: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        slugs = list(self.teams)
        self.team_of = {
            f"space-{number}": slugs[number // PER_TEAM] for number in range(len(slugs) * PER_TEAM)
        }
        self.guard = Guard(self.ground, lambda: dict(self.approved), self.team_of)

    def run(self) -> None:
        """The whole of it."""
        with self.watcher() as first:
            self.change(POLICIES[0])
            self.decide()
            self.sync_to_the_end()
            self.ground.submit(
                [(space, f"job-{n}") for n in range(JOBS_EACH) for space in self.team_of]
            )
            self.full()
            if not self.rough:
                self.go_on()
            else:
                end(first, signal.SIGKILL)
                with self.watcher():
                    self.go_on()
        self.guard.at_last()

    def go_on(self) -> None:
        """The policy changes twice."""
        for policy in POLICIES[1:]:
            self.change(policy)
            self.decide()
            if self.rough:
                self.strike(self.kill_the_server if policy == POLICIES[1] else self.kill_worker)
            self.sync_to_the_end()
            self.full()

    # -- what people and workers do ------------------------------------------------------------

    def change(self, policy: tuple[int, int]) -> None:
        """A new policy; while it takes effect either of the two may hold."""
        figures = {slug: policy[n % 2] for n, slug in enumerate(self.teams)}
        now = datetime.now(UTC)
        quotas.change_all(
            pool_id=Pool.objects.get().pk, valid_from=now, actor_id=None, now=now,
            wanted=[
                Wanted(team_id=self.teams[slug], guaranteed=gpus, limit=gpus)
                for slug, gpus in figures.items()
            ],
        )  # fmt: skip
        for slug, gpus in figures.items():
            self.approved[slug] = max(self.now_approved[slug], gpus)
            self.now_approved[slug] = gpus

    def decide(self) -> None:
        """A tick on rows that the watcher has brought up to now."""
        asked = datetime.now(UTC)
        wait_until(lambda: self.seen_at() > asked, "rows in step", WAIT_SECONDS)
        scheduling.run_tick(cluster_id=self.cluster.pk, now=datetime.now(UTC))

    def seen_at(self) -> datetime:
        """When rows were last in step."""
        found = Cluster.objects.get(pk=self.cluster.pk).seen_at
        return found or datetime(2000, 1, 1, tzinfo=UTC)

    def sync_to_the_end(self) -> None:
        """Cycles until there is nothing left to write."""
        for _ in range(20):
            wait_until(self.is_free, "the lease of whoever died", 30)
            run = kubernetes.sync_cluster(cluster_id=self.cluster.pk, now=datetime.now(UTC))
            self.guard.look()
            if run is None:
                return
        raise AssertionError("it never ends")

    def is_free(self) -> bool:
        """Whether nobody syncs."""
        held = Lease.objects.filter(
            name=f"sync-{self.cluster.pk}", expires_at__gt=datetime.now(UTC)
        ).exclude(holder="")
        return not held.exists()

    def full(self) -> None:
        """Every namespace has as many pods as it may, and the rows say so."""
        self.ground.follow()
        wait_until(self.is_full, "every namespace to be full", WAIT_SECONDS)

    def is_full(self) -> bool:
        """Whether no job that may start still has to."""
        self.ground.follow()
        pods, may = active(self.ground.all("Pod")), self.hard("guaranteed")
        return all(pods[space] >= min(JOBS_EACH, may[space]) for space in self.team_of)

    def hard(self, kind: str) -> Counter[str]:
        """What the quotas of a kind say, by namespace."""
        found: Counter[str] = Counter()
        for quota in self.ground.all("ResourceQuota"):
            if quota["metadata"]["name"] == f"evenshare-{kind}-{POOL}":
                found[quota["metadata"]["namespace"]] = int(
                    quota["spec"]["hard"]["requests.nvidia.com/gpu"]
                )
        return found

    # -- what goes wrong -----------------------------------------------------------------------

    def strike(self, blow: Callable[[subprocess.Popen[bytes]], None]) -> None:
        """A worker syncs, and in the middle of its writes something happens."""
        runs = SyncRun.objects.count()
        with self.process("sync") as worker:
            wait_until(lambda: SyncRun.objects.count() > runs, "a sync to begin", WAIT_SECONDS)
            time.sleep(self.chance.uniform(0.0, 0.3))
            blow(worker)
        self.guard.look()

    def kill_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGKILL."""
        end(worker, signal.SIGKILL)

    def kill_the_server(self, worker: subprocess.Popen[bytes]) -> None:
        """The worker finds out by itself."""
        self.ground.kill()
        worker.wait(120)
        self.ground.revive()
        wait_until(self.answers, "the server", WAIT_SECONDS)

    def answers(self) -> bool:
        """Whether the cluster is there again."""
        try:
            return bool(self.ground.all("Namespace"))
        except ClusterError:
            return False

    @contextmanager
    def watcher(self) -> Iterator[subprocess.Popen[bytes]]:
        """The watch command, running; its rows are in step when the block begins."""
        begun = datetime.now(UTC)
        with self.process("watch") as process:
            wait_until(lambda: self.seen_at() > begun, "rows in step", WAIT_SECONDS)
            yield process

    @contextmanager
    def process(self, command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command of manage.py in a process of its own."""
        environment = {
            **os.environ, "DATABASE_URL": self.database, "EVENSHARE_VAR": str(self.folder),
            "EVENSHARE_EMBEDDED": "yes", "EVENSHARE_LEASE_SECONDS": LEASE_SECONDS,
        }  # fmt: skip
        with (self.folder / f"{command}.log").open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, "manage.py", command, "--cluster", "storm"], cwd=ROOT,
                env=environment, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                end(process, signal.SIGKILL)

    # -- how it ended --------------------------------------------------------------------------

    def outcome(self) -> dict[str, Any]:
        """What stands in the cluster: all that is the portal's, and what each team has."""
        found: dict[str, Any] = {}
        for kind in ("PriorityClass", "Namespace"):
            for item in self.ground.all(kind):
                name = item["metadata"]["name"]
                if name.startswith(("evenshare-", "space-")):
                    notes = item["metadata"].get("annotations", {})
                    kept = {key: value for key, value in notes.items() if key != FENCE}
                    labels = item["metadata"].get("labels")
                    found[f"{kind} {name}"] = (item.get("value"), labels, kept)
        for kind in ("guaranteed", "burst"):
            hard: Counter[str] = Counter()
            for space, gpus in self.hard(kind).items():
                hard[self.team_of[space]] += gpus
            found[kind] = dict(hard)
        quotas = [q["metadata"] for q in self.ground.all("ResourceQuota")]
        found["quotas"] = sorted(f"{q['namespace']}/{q['name']}" for q in quotas)
        found["jobs"] = Workload.objects.count()
        return found

    def twice_in_vain(self) -> list[str]:
        """Fields that were told to be written to what they were already."""
        last: dict[tuple[str, ...], Any] = {}
        found = []
        for row in SyncWrite.objects.order_by("run_id", "id"):
            key = (row.kind, row.namespace, row.name, row.field)
            if row.was == row.now or (key in last and last[key] == row.now):
                found.append(f"{key}: {row.was} to {row.now}")
            last[key] = row.now
        return found


def a_storm(
    database: str, folder: Path, teams: int, *, real: bool, rough: bool, seed: int
) -> Storm:
    """An empty cluster that the portal knows, its teams and their namespaces."""
    ground = a_ground(folder / f"ground-{rough}", real=real)
    spaces = [f"space-{number}" for number in range(teams * PER_TEAM)]
    ground.fill(spaces, nodes=-(-teams * sum(max(p) for p in POLICIES[:1]) // GPUS) + 2)
    now = datetime.now(UTC)
    cluster = inventory.register_cluster(
        name="storm", kind=ClusterKind.KUBERNETES, now=now, actor_id=None,
        settings={"kubeconfig": str(ground.kubeconfig)},
    )  # fmt: skip
    inventory.register_pool(
        cluster_id=cluster.pk, name=POOL, gpu_model="H100", position=0, now=now, actor_id=None
    )
    ids = {f"team-{number}": builders.a_team(f"team-{number}").pk for number in range(teams)}
    for number, name in enumerate(spaces):
        inventory.register_namespace(
            cluster_id=cluster.pk, name=name, team_id=ids[f"team-{number // PER_TEAM}"], now=now,
            actor_id=None,
        )  # fmt: skip
    var = folder / f"var-{rough}"
    var.mkdir()
    return Storm(ground, cluster, database, var, ids, random.Random(seed), rough)


Runs = Callable[[bool], tuple[Storm, dict[str, Any]]]


@pytest.fixture
def runs(_template: str, db: None, tmp_path: Path) -> Callable[..., tuple[Storm, dict[str, Any]]]:
    """A storm or a calm, each in a database of its own, run to its end."""
    from tests import scratch

    def run(rough: bool, teams: int, real: bool, seed: int) -> tuple[Storm, dict[str, Any]]:
        place = tmp_path / f"db-{rough}"
        place.mkdir()
        with scratch.database(_template, place) as url:
            storm = a_storm(url, tmp_path, teams, real=real, rough=rough, seed=seed)
            try:
                storm.run()
                found = storm.outcome()
                assert storm.guard.wrong == []
                assert storm.twice_in_vain() == []
                assert not storm.ground.vain()
                states = set(SyncRun.objects.values_list("state", flat=True))
                if rough:
                    assert states - {SyncState.DONE}, "nothing went wrong at all"
                return storm, found
            finally:
                storm.ground.close()
                connection.close()

    return run


def compare(runs: Callable[..., Any], teams: int, *, real: bool, seed: int) -> None:
    """A storm ends as a calm does."""
    _, calm = runs(False, teams, real, seed)
    storm, rough = runs(True, teams, real, seed)
    for name in calm:
        assert rough[name] == calm[name], name
    assert rough.keys() == calm.keys()
    assert storm.guard.looks > len(POLICIES)


def test_a_small_storm_ends_as_a_calm(runs: Callable[..., Any]) -> None:
    compare(runs, 2, real=False, seed=1)


@pytest.mark.drill
def test_a_storm_over_three_hundred_namespaces_ends_as_a_calm(runs: Callable[..., Any]) -> None:
    from tests.cluster.server import assets

    compare(runs, 60 if assets() else 12, real=True, seed=2)
