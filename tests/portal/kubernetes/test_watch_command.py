"""`manage.py watch` as an operator runs it: a process of its own, ended in every way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from portal.common.models import Lease
from portal.inventory.models import Cluster
from portal.kubernetes import services
from portal.kubernetes.models import ReadMark
from portal.workloads.models import Workload
from tests.api_server import controllers, serving
from tests.api_server.faults import Fault
from tests.api_server.serving import ApiServer
from tests.portal.kubernetes import watched
from tests.portal.kubernetes.watched import submit
from tests.production import end, wait_until

ROOT = Path(__file__).resolve().parents[3]
CURRENT_SECONDS = 2.0


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An API server of our own."""
    with serving.serving(bookmark_seconds=0.2) as running:
        yield running


@pytest.fixture
def cluster(committed_database: str, server: ApiServer, tmp_path: Path) -> Cluster:
    """The cluster, in a database that another process sees."""
    return watched.a_cluster(server, tmp_path)


@contextmanager
def watcher(database: str, folder: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command, running."""
    environment = {
        **os.environ, "DATABASE_URL": database, "EVENSHARE_VAR": str(folder),
        "EVENSHARE_EMBEDDED": "yes", **settings,
    }  # fmt: skip
    with (folder / "watch.log").open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "watch", "--cluster", "lab"], cwd=ROOT, env=environment,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        end(process, signal.SIGKILL)


def is_current(cluster: Cluster) -> bool:
    """Whether somebody said so."""
    return Cluster.objects.get(pk=cluster.pk).seen_at is not None


def test_a_change_stands_in_the_rows_within_two_seconds_and_nobody_else_looks(
    committed_database: str, server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    with watcher(committed_database, tmp_path) as process:
        wait_until(lambda: is_current(cluster), "the rows to be in step")
        submit(server.store, "train")
        controllers.settle(server.store)
        begun = time.monotonic()
        wait_until(lambda: Workload.objects.filter(state="running").exists(), "the job", 10)
        assert time.monotonic() - begun < CURRENT_SECONDS
        assert services.is_watched(cluster.pk)
        asked, said = len(server.script.asked), StringIO()
        call_command("collect", stdout=said)
        assert "a watcher keeps its rows in step" in said.getvalue()
        assert len(server.script.asked) == asked
        process.terminate()
        assert process.wait(20) == 0
    assert not services.is_watched(cluster.pk)
    assert int(ReadMark.objects.get().version) > 100
    call_command("collect", stdout=StringIO())
    assert len(server.script.asked) > asked
    assert "Traceback" not in (tmp_path / "watch.log").read_text()


def test_when_a_watcher_is_killed_looks_begin_again_after_its_lease(
    committed_database: str, server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    with watcher(committed_database, tmp_path, EVENSHARE_LEASE_SECONDS="3") as process:
        wait_until(lambda: is_current(cluster), "the rows to be in step")
        # It holds its lease on for as long as it lives.
        time.sleep(4)
        assert services.is_watched(cluster.pk)
        end(process, signal.SIGKILL)
    submit(server.store, "train")
    controllers.settle(server.store)
    wait_until(lambda: not services.is_watched(cluster.pk), "the lease to run out", 10)
    call_command("collect", stdout=StringIO())
    assert Workload.objects.get().state == "running"


def test_a_watcher_whose_lease_was_taken_writes_nothing_more_and_comes_back(
    committed_database: str, server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    with watcher(committed_database, tmp_path):
        wait_until(lambda: is_current(cluster), "the rows to be in step")
        Lease.objects.filter(name=f"collect-{cluster.pk}").update(holder="another", fence=1000)
        submit(server.store, "train")
        controllers.settle(server.store)
        time.sleep(2)
        assert not Workload.objects.exists()
        Lease.objects.filter(name=f"collect-{cluster.pk}").update(holder="", expires_at=None)
        wait_until(lambda: Workload.objects.exists(), "the job", 20)


def test_a_watcher_that_gets_nowhere_lets_others_look(
    committed_database: str, server: ApiServer, cluster: Cluster, tmp_path: Path
) -> None:
    # A cluster that may be listed but not watched.
    server.script.add(Fault(watch=True, status=403, times=10**6))
    short = {"EVENSHARE_LEASE_SECONDS": "3", "EVENSHARE_TICK_SECONDS": "4"}
    with watcher(committed_database, tmp_path, **short):
        wait_until(lambda: services.is_watched(cluster.pk), "it to try", 30)
        wait_until(lambda: Cluster.objects.get(pk=cluster.pk).last_error, "why not", 30)
        wait_until(lambda: not services.is_watched(cluster.pk), "it to give up", 30)
        said = StringIO()
        call_command("collect", stdout=said)
        assert "a watcher" not in said.getvalue()
        assert Cluster.objects.get(pk=cluster.pk).seen_at is not None


@pytest.mark.django_db
def test_only_a_real_cluster_is_watched() -> None:
    with pytest.raises(CommandError, match="there is no cluster moon"):
        call_command("watch", cluster="moon")
