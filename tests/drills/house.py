"""A whole installation under a supervisor, and all that must hold whatever befalls it.

Web, two workers and beat run as their own processes on a PostgreSQL and a Redis of their own, over
a simulated cluster whose minutes pass in seconds; who dies is started again, as systemd or a
container engine would. Nobody else helps.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.db import OperationalError, close_old_connections, connections
from django.test import override_settings

from portal import environment
from portal.common import audit, clock
from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Drift
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.notifications.models import Notification
from portal.quotas import services as quotas
from portal.scheduling.models import Decision, Tick, TickState
from portal.teams.models import Organisation, Role
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload, WorkloadState
from tests import builders
from tests.drills.stores import Stores
from tests.portal.kubernetes.world import START, TEAMS, a_registered, a_spec, pool_of
from tests.production import ROOT, Production, end, wait_until
from tests.with_services import free_port

SPEED = 60
GUARANTEED, LIMIT = 8, 12
JOBS = 6
CELERY = [sys.executable, "-m", "celery", "-A", "portal"]
LEAN = ["--concurrency", "1", "--without-gossip", "--without-mingle"]


@dataclass
class Kept:
    """One process that is started again when it dies."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path
    starts: int = 0
    process: subprocess.Popen[bytes] | None = None
    limits: Any = None

    def start(self) -> None:
        """Start it; its lines go to a file."""
        self.starts += 1
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, env=self.environment, cwd=ROOT, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=out, preexec_fn=self.limits,
            )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and its children."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, number)


@dataclass
class House:
    """The installation, its cluster, and who watches over both."""

    stores: Stores
    production: Production
    cluster: Cluster
    port: SimulatedCluster
    web_port: int = field(default_factory=free_port)
    kept: dict[str, Kept] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Everything runs, is started again when it dies, and is looked at all the time."""
        self.keep("worker-1", [*CELERY, "worker", *LEAN, "--hostname", "one@%h"])
        self.keep("worker-2", [*CELERY, "worker", *LEAN, "--hostname", "two@%h"])
        self.keep("beat", [*CELERY, "beat", "--max-interval", "1"])
        self.keep("web", [
            sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn_conf.py",
            "portal.wsgi", "--workers", "1", "--bind", f"127.0.0.1:{self.web_port}",
            "--log-level", "error",
        ])  # fmt: skip
        threads = [threading.Thread(target=self._supervise), threading.Thread(target=self._guard)]
        for thread in threads:
            thread.start()
        try:
            self.recovers()
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            for kept in self.kept.values():
                if kept.process is not None:
                    kept.signal(signal.SIGCONT)
                    end(kept.process, signal.SIGKILL)

    def keep(self, name: str, command: Sequence[str], **more: str) -> Kept:
        """Start a process and have it started again."""
        environment = {**self.production.environment, **more}
        log = self.production.folder / f"{name}.log"
        self.kept[name] = Kept(name, list(command), environment, log)
        self.kept[name].start()
        return self.kept[name]

    def drop(self, name: str) -> None:
        """End a process for good."""
        kept = self.kept.pop(name)
        assert kept.process is not None
        end(kept.process, signal.SIGKILL)

    def change(self, name: str, **how: Any) -> None:
        """End a process and start it in another way."""
        kept = self.kept[name]
        self.drop(name)
        self.kept[name] = replace(kept, process=None, **how)
        self.kept[name].start()

    def _supervise(self) -> None:
        while not self._stop.wait(0.2):
            for kept in list(self.kept.values()):
                if kept.process is not None and kept.process.poll() is not None:
                    kept.start()

    def _guard(self) -> None:
        """At no instant does the cluster hold more than was approved."""
        port = SimulatedCluster(self.production.folder / "lab.cluster")
        while not self._stop.wait(0.1):
            granted: Counter[str] = Counter()
            for quota in port.quotas().items:
                name, space = quota["metadata"]["name"], quota["metadata"]["namespace"]
                for resource, amount in quota["spec"]["hard"].items():
                    if resource.startswith("requests."):
                        granted[f"{name} {space}"] += int(amount)
            for what, amount in granted.items():
                most = GUARANTEED if "guaranteed" in what else LIMIT
                if "a100" in what and amount > most:
                    self.wrong.append(f"{what}: {amount} of {most}")
        port.close()

    def ticks(self) -> int:
        """How many there are that decided; as often asked for as it takes to be told."""
        until = time.monotonic() + 30
        while True:
            try:
                return Tick.objects.filter(state=TickState.DONE).count()
            except OperationalError:
                assert time.monotonic() < until, "the database stays away"
                for connection in connections.all(initialized_only=True):
                    connection.close()
                time.sleep(0.2)

    def recovers(self, ticks: int = 2) -> None:
        """Decisions are taken again and pages answer, without a person."""
        before = self.ticks()
        wait_until(lambda: self.ticks() >= before + ticks, "ticks as ever", 90)
        wait_until(lambda: self.page("/readyz") == 200, "a page", 60)

    def page(self, path: str) -> int:
        """What the web server answers; 0 for nothing."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}{path}", timeout=5) as it:
                return int(it.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def submit(self, label: str, jobs: int = JOBS) -> None:
        """Hand in jobs of both teams, more than fit at once."""
        for number in range(jobs):
            self.port.submit(
                a_spec(f"{label}-{number}", gpus=2 + number % 3, work=120 + 60 * number,
                       namespace=TEAMS[number % 2])
            )  # fmt: skip

    def comes_to_rest(self) -> None:
        """All jobs run and end."""
        over = Workload.objects.filter(state=WorkloadState.SUCCEEDED, ended_at__isnull=False)
        wait_until(lambda: over.count() >= JOBS, "the jobs to be seen", 120)
        wait_until(lambda: not Workload.objects.filter(ended_at=None).exists(), "their end", 180)

    def stands(self) -> None:
        """Nothing is lost, nothing doubled, nothing above what was approved, all of it traced."""
        kubernetes.collect(cluster_id=self.cluster.pk, now=clock.now())
        ledger: Counter[str] = Counter()
        for row in LedgerEntry.objects.all():
            ledger[row.pod_uid] += row.sign * row.seconds
        books: Counter[str] = Counter()
        for entry in self.port.books():
            books[entry.pod_uid] += entry.to_s - entry.from_s
        assert ledger == books
        assert len(books) >= JOBS
        said = Decision.objects.values_list("workload_id", "verb", "reason").order_by("id")
        of: dict[int, list[tuple[str, str]]] = {}
        for pk, verb, reason in said:
            of.setdefault(pk, []).append((verb, reason))
        assert all(a != b for words in of.values() for a, b in pairwise(words))
        fences = list(Tick.objects.order_by("id").values_list("fence", flat=True))
        assert fences == sorted(set(fences)), "two ticks at once"
        news = Notification.objects.values_list("user_id", "event_id")
        assert len(news) == len(set(news))
        assert not Drift.objects.filter(closed_at__isnull=True).exists()
        assert audit.first_broken() is None
        assert self.wrong == []


@contextmanager
def a_house(stores: Stores, template: str, folder: Path) -> Iterator[House]:
    """A new one: two teams with quotas, and jobs handed in."""
    folder.mkdir()
    stores.broker.flush()
    with (
        stores.postgres.copy(template) as name,
        connected(stores.postgres.url(name)),
        override_settings(VAR_DIR=folder),
    ):
        production = Production(
            database=stores.postgres.url(name), broker=stores.broker.url, folder=folder,
            EVENSHARE_TICK_SECONDS="1", EVENSHARE_CHORE_SECONDS="2", EVENSHARE_LEASE_SECONDS="3",
            EVENSHARE_FORECAST_SECONDS="5", EVENSHARE_DATABASE_STALL_SECONDS="4",
        )  # fmt: skip
        Organisation.objects.create(name="Hangang Labs")
        for person in ("jihye", "minsu"):
            builders.a_user(person, role=Role.ADMIN)
        cluster, port = a_registered(folder)
        kubernetes.collect(cluster_id=cluster.pk, now=START)
        for slug in TEAMS:
            quotas.change(
                team_id=cluster.namespaces.get(name=slug).owners.get().team_id,
                pool_id=pool_of(cluster, "a100").pk, guaranteed=GUARANTEED, limit=LIMIT,
                valid_from=START, actor_id=None, now=START,
            )  # fmt: skip
        clock.set_anchor(real_at=clock.real_now(), organisation_at=START, speed=SPEED)
        house = House(stores, production, cluster, port)
        house.submit("job")
        try:
            with house.at_work():
                yield house
        finally:
            port.close()
            close_old_connections()


@contextmanager
def connected(url: str) -> Iterator[None]:
    """Point this process at another database for a while."""
    settings = connections.settings["default"]
    kept, aside = dict(settings), connections["default"]
    settings.update({"OPTIONS": {}, **environment.database(url)})
    settings.update({"CONN_MAX_AGE": 0})
    del connections["default"]
    try:
        yield
    finally:
        connections["default"].close()
        settings.clear()
        settings.update(kept)
        connections["default"] = aside
