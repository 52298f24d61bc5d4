"""A process that dies anywhere while it collects or closes the month leaves the same bill.

It is killed with SIGKILL at a point the seed chooses, on PostgreSQL, and another goes on. Compared
with a run nobody killed are the ledger, its hourly sums, the month and every line of its statements.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db.models import Model
from django.test import override_settings

from portal.finance import selectors
from portal.finance import services as finance
from portal.finance.models import Month, Statement, StatementLine
from portal.finance.services import NewRate
from portal.inventory.models import Pool
from portal.kubernetes import ports
from portal.kubernetes import services as kubernetes
from portal.scheduling import services as scheduling
from portal.usage import rollups
from portal.usage.models import HourlyUse, LedgerEntry, StaleHour
from portal.workloads.models import Pod, WorkloadState
from tests import builders, scratch
from tests.drills.billing import NOON
from tests.portal.kubernetes.world import START, a_registered, a_spec, minutes, pool_of

pytestmark = pytest.mark.services
FEW, MANY = 3, int(os.environ.get("KILLS", "50"))
TABLES: tuple[type[Model], ...] = (
    LedgerEntry, HourlyUse, StaleHour, Pod, Month, Statement, StatementLine,
)  # fmt: skip
PATIENCE_SECONDS = 300
LEFT_OUT = {"id", "statement_id", "workload_id", "node_id", "month_id"}


@dataclass
class Ground:
    """A database and a cluster as they were before the month's end."""

    url: str
    folder: Path
    cluster_id: int

    def run(self, kill: int = 0) -> int:
        """Go on to the end, or to the death at a point; gives the points passed."""
        points = self.folder / "points"
        told = {
            "DATABASE_URL": self.url, "EVENSHARE_VAR": str(self.folder), "DRILL_KILL": str(kill),
            "DRILL_STEPS": str(self.folder / "steps"), "DRILL_POINTS": str(points),
        }  # fmt: skip
        ended = subprocess.run(
            [sys.executable, "-m", "tests.drills.billing", str(self.cluster_id)],
            env={**os.environ, **told}, timeout=PATIENCE_SECONDS, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if kill:
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            return kill
        assert ended.returncode == 0, ended.stderr
        return int(points.read_text())

    def state(self) -> dict[str, list[str]]:
        """The rows, without what only counts tries."""
        return {model.__name__: sorted(_plain(row) for row in model._default_manager.values())
                for model in TABLES}  # fmt: skip


def _plain(row: dict[str, Any]) -> str:
    return repr({name: value for name, value in row.items() if name not in LEFT_OUT})


@dataclass
class Grounds:
    """What a ground is copied from."""

    template: str
    folder: Path
    cluster_id: int
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
            yield Ground(url, folder, self.cluster_id)


@pytest.fixture
def grounds(committed_database: str, broker: str, tmp_path: Path) -> Iterator[Grounds]:
    """Jobs run, end and wait; there are prices; nothing has been billed."""
    with override_settings(VAR_DIR=tmp_path):
        cluster, port = a_registered(tmp_path)
        kubernetes.collect(cluster_id=cluster.pk, now=START)
        finance.set_rate_card(
            name="Card", currency="USD", tax_basis_points=1000, valid_from=START - minutes(9000),
            rates=[NewRate(pk, 2_495_000, borrowed_milli=700)
                   for pk in Pool.objects.values_list("pk", flat=True)],
            actor_id=None, now=START,
        )  # fmt: skip
        for number in range(8):
            port.submit(
                a_spec(f"job-{number}", gpus=1 + number % 4, work=600 + 400 * number,
                       namespace=("vision", "speech")[number % 2])
            )  # fmt: skip
        now = START
        while now < NOON - minutes(4):
            now += minutes(3)
            kubernetes.collect(cluster_id=cluster.pk, now=now)
            scheduling.run_tick(cluster_id=cluster.pk, now=now)
            kubernetes.sync_cluster(cluster_id=cluster.pk, now=now)
        # One the cluster will have forgotten at the next look: it closes where it was last seen.
        pool = pool_of(cluster, "a100")
        team = cluster.namespaces.get(name="vision").owners.get().team
        lost = builders.a_workload(
            team, pool, "lost", submitted_at=START, state=WorkloadState.RUNNING, scheduled_at=START
        )
        builders.a_pod(
            lost, pool.nodes.first(), scheduled_at=START, charged_to="borrowed", gpu_milli=2000,
        )  # fmt: skip
        Pod.objects.filter(workload=lost).update(seen_at=START + minutes(22))
        ports.forget(ports.simulated_file(cluster))
        with scratch.template(tmp_path) as template:
            yield Grounds(template, tmp_path, cluster.pk)


def _kill_at_random(grounds: Grounds, seeds: int) -> None:
    with grounds.fresh() as ground:
        points = ground.run()
        calm = ground.state()
        span = rollups.span()
        assert span is not None
        assert list(rollups.differences(*span)) == []
        found = selectors.get_reconciliation(instant=NOON)
        assert found is not None
        assert found.adds_up
        assert found.state == "final"
        assert LedgerEntry.objects.filter(estimated=True).exists()
        assert Statement.objects.filter(total_micro__gt=0).count() >= 2
    assert points > 100
    for seed in range(seeds):
        kill = Random(seed).randint(1, points)
        with grounds.fresh() as ground:
            ground.run(kill=kill)
            ground.run()
            after = ground.state()
        for name, rows in calm.items():
            assert after[name] == rows, f"{name} after a kill at {kill} of {points}"


def test_a_month_closed_by_processes_that_die_bills_as_a_calm_one(grounds: Grounds) -> None:
    _kill_at_random(grounds, FEW)


@pytest.mark.drill
def test_a_month_closed_by_processes_that_die_at_many_points(grounds: Grounds) -> None:
    _kill_at_random(grounds, MANY)
