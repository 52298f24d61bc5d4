"""Workers and beat as in production, on PostgreSQL and Redis: the table is kept, whatever stops."""

import json
import signal
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from django.test import override_settings

from portal.common import audit, clock
from portal.finance.models import Month
from portal.inventory.models import Cluster
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Drift
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.quotas import services as quotas
from portal.scheduling.models import Decision, Tick, TickState
from portal.teams.models import Organisation, Role
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload, WorkloadState
from tests import builders
from tests.portal.kubernetes.world import START, a_registered, a_spec, pool_of
from tests.production import Production, wait_until

pytestmark = pytest.mark.services
SPEED = 60


class Lab:
    """A simulated cluster whose minutes pass in seconds, and the installation that serves it."""

    def __init__(self, production: Production, cluster: Cluster, port: SimulatedCluster) -> None:
        self.production, self.cluster, self.port = production, cluster, port

    def ticks(self) -> int:
        """How many there are that decided something."""
        return Tick.objects.filter(state=TickState.DONE).count()


@pytest.fixture
def lab(committed_database: str, broker: str, tmp_path: Path) -> Iterator[Lab]:
    """Two teams, quotas, three jobs; nothing runs yet."""
    with override_settings(VAR_DIR=tmp_path):
        Organisation.objects.create(name="Hangang Labs")
        for name in ("jihye", "minsu"):
            builders.a_user(name, role=Role.ADMIN)
        cluster, port = a_registered(tmp_path)
        kubernetes.collect(cluster_id=cluster.pk, now=START)
        for slug in ("vision", "speech"):
            quotas.change(
                team_id=cluster.namespaces.get(name=slug).owners.get().team_id,
                pool_id=pool_of(cluster, "a100").pk, guaranteed=8, limit=16, valid_from=START,
                actor_id=None, now=START,
            )  # fmt: skip
        for number in range(3):
            port.submit(a_spec(f"job-{number}", gpus=2, work=120 + 60 * number))
        production = Production(
            database=committed_database, broker=broker, folder=tmp_path,
            EVENSHARE_TICK_SECONDS="1", EVENSHARE_CHORE_SECONDS="1", EVENSHARE_LEASE_SECONDS="2",
        )  # fmt: skip
        clock.set_anchor(real_at=clock.real_now(), organisation_at=START, speed=SPEED)
        yield Lab(production, cluster, port)


def test_beat_and_two_workers_turn_the_cluster_at_its_period_and_one_writes(lab: Lab) -> None:
    with lab.production.worker(), lab.production.worker("-Q", "clusters"), lab.production.beat():
        wait_until(lambda: lab.ticks() >= 3, "the first ticks")
        begun, first = time.monotonic(), lab.ticks()
        wait_until(lambda: _all_over(3), "the jobs to run and end")
        wait_until(lambda: lab.ticks() >= first + 8, "more ticks")
        doctor = lab.production.manage("doctor")
        seconds = time.monotonic() - begun
    rows = list(Tick.objects.order_by("id"))
    assert lab.ticks() - first <= seconds + 2
    # One after the other: each began when the one before had its number and its rows.
    fences = [row.fence for row in rows]
    assert fences == sorted(set(fences))
    assert all(before.at < after.at for before, after in pairwise(rows))
    assert doctor.returncode == 0, doctor.stdout
    assert "ok   queue clusters" in doctor.stdout
    assert "ok   queue chores" in doctor.stdout
    _everything_stands(lab)
    _lines_are_json(lab.production.lines())


def test_what_beat_asked_while_no_worker_ran_collapses_into_one_turn(lab: Lab) -> None:
    with lab.production.beat():
        wait_until(lambda: lab.production.waiting() >= 25, "a backlog")
    asked = lab.production.waiting()
    time.sleep(1.1)
    with lab.production.worker():
        wait_until(lambda: lab.production.waiting() == 0, "an empty queue")
        time.sleep(0.5)
    assert asked >= 25
    assert lab.ticks() == 0
    with lab.production.worker(), lab.production.beat():
        wait_until(lambda: lab.ticks() >= 2, "ticks as ever")


def test_after_a_worker_is_killed_the_next_goes_on_once_the_lease_has_run_out(lab: Lab) -> None:
    with lab.production.beat():
        for _ in range(2):
            wanted = lab.ticks() + 2
            with lab.production.worker(stop=signal.SIGKILL):
                wait_until(partial(_has_ticked, lab, wanted), "ticks")
        with lab.production.worker():
            wait_until(lambda: _all_over(3), "the jobs to run and end")
    _everything_stands(lab)


def _all_over(jobs: int) -> bool:
    over = Workload.objects.filter(state=WorkloadState.SUCCEEDED, ended_at__isnull=False)
    return over.count() == jobs


def _everything_stands(lab: Lab) -> None:
    """The ledger equals the cluster's books, nothing is said twice, the audit is whole."""
    kubernetes.collect(cluster_id=lab.cluster.pk, now=clock.now())
    ledger: dict[str, int] = {}
    for row in LedgerEntry.objects.all():
        ledger[row.pod_uid] = ledger.get(row.pod_uid, 0) + row.sign * row.seconds
    books: dict[str, int] = {}
    for entry in lab.port.books():
        books[entry.pod_uid] = books.get(entry.pod_uid, 0) + entry.to_s - entry.from_s
    assert ledger == books
    assert len(books) == 3
    said = list(Decision.objects.values_list("workload_id", "verb", "reason").order_by("id"))
    by_job = {pk: [row[1:] for row in said if row[0] == pk] for pk, *_ in said}
    assert all(a != b for words in by_job.values() for a, b in pairwise(words))
    assert not Drift.objects.filter(closed_at__isnull=True).exists()
    assert Month.objects.exists()
    assert audit.first_broken() is None


def _lines_are_json(lines: list[str]) -> None:
    """Every line of every process is an object, and the ticks' say which."""
    found = [json.loads(line) for line in lines]
    ticks = [line for line in found if line["logger"] == "portal.scheduling.services"]
    assert len(ticks) >= 3
    assert all(
        {"tick", "cluster", "ms", "fence", "lease", "task", "task_id"} <= line.keys()
        for line in ticks
    )
    assert not [line for line in found if line["level"] in ("error", "critical")]


def _has_ticked(lab: Lab, times: int) -> bool:
    return lab.ticks() >= times
