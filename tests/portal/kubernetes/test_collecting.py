"""A look at a cluster brings every row in step with it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.inventory.models import Cluster, Node, NodeOutage, NodeState
from portal.kubernetes import ports, services
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.teams.models import Team
from portal.usage.models import LedgerEntry
from portal.workloads.models import Kind, Pod, StageEvent, Workload, WorkloadState
from scheduler_core.traces import Job
from tests import builders
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db
REAL = START


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    jobs = (
        Job("3", 100, 60, 1000, team="speech", gpu_models=("T4",)),
        Job("7", 700, 3600, 4000, team="vision", gpu_models=("A100",)),
    )
    cluster, port = world.a_registered(folder, world.a_plan(jobs))
    world.allow(port, "vision", guaranteed=4, burst=4)
    return cluster


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return world.reopened(cluster)


def collect(cluster: Cluster, minute: float) -> services.Collected:
    """One look, so many minutes after the start."""
    return services.collect(cluster_id=cluster.pk, now=START + minutes(minute), real_now=REAL)


def everything() -> list[object]:
    """All rows a look may touch, but for when they were seen."""
    found: list[object] = []
    for model in (Workload, Pod, StageEvent, LedgerEntry, Node, NodeOutage):
        rows = [dict(row) for row in model.objects.order_by("pk").values()]
        found += [{k: v for k, v in row.items() if k != "seen_at"} for row in rows]
    return found


def test_nodes_and_jobs_of_a_trace_become_rows(cluster: Cluster) -> None:
    minji = builders.a_user("minji")
    junho = builders.a_user("junho")
    collect(cluster, 0)
    collect(cluster, 20)

    assert dict(Node.objects.values_list("name", "gpus")) == {
        "big-0": 8, "big-1": 8, "small-0": 4, "small-1": 4
    }  # fmt: skip
    row = Workload.objects.get(team__slug="vision")
    assert (row.team, row.pool, row.tasks, row.gpu_milli) == (
        Team.objects.get(slug="vision"), world.pool_of(cluster, "a100"), 1, 4000
    )  # fmt: skip
    assert row.user in (minji, junho)
    assert row.kind in Kind.values
    assert row.submitted_at == START + minutes(10)
    assert row.cpu_milli > 0 < row.memory_mib
    cluster.refresh_from_db()
    assert (cluster.seen_at, cluster.seen_real_at) == (START + minutes(20), REAL)


def test_collecting_twice_changes_nothing(cluster: Cluster) -> None:
    collect(cluster, 0)
    collect(cluster, 33)
    before = everything()
    again = collect(cluster, 33)
    assert everything() == before
    assert again.ledger_rows == 0


def test_a_refused_job_is_seen_waiting_with_the_clusters_own_words(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    port.submit(world.a_spec("wide", gpus=8))
    collect(cluster, 1)
    row = Workload.objects.get(name="wide")
    assert (row.state, row.cluster_reason) == (WorkloadState.WAITING, "cluster_quota")
    assert "exceeded quota: evenshare-burst-a100" in row.cluster_message


def test_fragmentation_is_told_from_shortage_by_our_own_count(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    world.allow(port, "vision", guaranteed=16, burst=16)
    collect(cluster, 0)
    for number in range(2):
        port.submit(world.a_spec(f"half-{number}", gpus=5))
    port.submit(world.a_spec("wide", gpus=6))
    collect(cluster, 1)
    row = Workload.objects.get(name="wide")
    assert (row.state, row.cluster_reason) == (WorkloadState.ADMITTED, "cluster_fragmented")
    port.submit(world.a_spec("wider", gpus=8, tasks=1))
    collect(cluster, 2)
    assert Workload.objects.get(name="wider").cluster_reason == "cluster_gpu_short"


def test_a_job_that_came_and_went_between_two_looks_is_known_to_the_second(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    port.submit(world.a_spec("short", gpus=2, work=60, start_delay=30))
    collect(cluster, 300)
    row = Workload.objects.get(name="short")
    assert row.state == WorkloadState.SUCCEEDED
    assert (row.scheduled_at, row.ended_at) == (START, START + minutes(1.5))
    assert LedgerEntry.objects.get(workload_id=row.pk).seconds == 90


def test_a_preempted_job_keeps_its_history(cluster: Cluster, port: SimulatedCluster) -> None:
    world.allow(port, "speech", guaranteed=0, burst=16)
    world.allow(port, "vision", guaranteed=16, burst=0)
    collect(cluster, 0)
    port.submit(world.a_spec("theirs", gpus=8, work=7200, namespace="speech"))
    collect(cluster, 2)
    for number in range(2):
        port.submit(world.a_spec(f"ours-{number}", gpus=8, work=600))
    collect(cluster, 60)
    row = Workload.objects.get(name="theirs")
    assert (row.state, row.preemptions) == (WorkloadState.RUNNING, 1)
    whys = list(row.events.order_by("at", "id").values_list("state", "why"))
    assert ("stopping", "preempted") in whys
    assert ("waiting", "preempted") in whys
    assert row.pods.count() == 2


def test_a_lost_node_opens_an_outage_and_a_repaired_one_closes_it(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    port.lose("big-0")
    collect(cluster, 1)
    assert Node.objects.get(name="big-0").state == NodeState.DOWN
    assert NodeOutage.objects.get().ends_at is None
    port.lose("big-0")
    collect(cluster, 2)
    assert Node.objects.get(name="big-0").state == NodeState.READY
    assert NodeOutage.objects.get().ends_at == START + minutes(2)


def test_work_in_a_namespace_of_no_team_is_seen_and_charged_to_nobody(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    port.submit(world.a_spec("shadow", gpus=1, work=60, namespace="sandbox"))
    collect(cluster, 5)
    row = Workload.objects.get(name="shadow")
    assert (row.team, row.state) == (None, WorkloadState.SUCCEEDED)
    assert LedgerEntry.objects.get(workload_id=row.pk).team is None


def test_a_job_somebody_deletes_is_cancelled_once_its_pods_are_gone(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    port.submit(world.a_spec("regretted", gpus=1))
    collect(cluster, 5)
    port.delete("Job", "vision", "regretted")
    collect(cluster, 5.25)
    assert Workload.objects.get(name="regretted").state == WorkloadState.STOPPING
    collect(cluster, 10)
    row = Workload.objects.get(name="regretted")
    assert (row.state, row.ended_at) == (WorkloadState.CANCELLED, START + minutes(5.5))


def test_an_unreachable_cluster_keeps_its_last_known_rows(
    cluster: Cluster, port: SimulatedCluster, folder: Path
) -> None:
    collect(cluster, 0)
    collect(cluster, 20)
    before = everything()
    (folder / "lab.cluster").rename(folder / "elsewhere")
    result = collect(cluster, 25)
    assert "no simulated cluster" in result.error
    assert everything() == before
    cluster.refresh_from_db()
    assert cluster.seen_at == START + minutes(20)
    assert "no simulated cluster" in cluster.last_error


DAMAGE = {
    "no database": lambda path: path.write_bytes(b"not a database at all" * 500),
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:6000]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "unreadable records": lambda path: sqlite3.connect(path, isolation_level=None).execute(
        "UPDATE records SET body = '{}'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cluster_is_marked_and_what_was_known_stays(
    cluster: Cluster, damage: Callable[[Path], object]
) -> None:
    collect(cluster, 20)
    before = everything()
    path = ports.simulated_file(cluster)
    ports.forget(path)
    whole = path.read_bytes()
    damage(path)
    result = collect(cluster, 40)
    assert "cannot be" in result.error or "lacks" in result.error
    assert everything() == before
    cluster.refresh_from_db()
    assert cluster.last_error == result.error
    ports.forget(path)
    if path.is_dir():
        path.rmdir()
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    path.write_bytes(whole)
    assert collect(cluster, 40).error == ""


def test_a_step_that_could_not_be_written_is_taken_again(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    collect(cluster, 0)
    path = ports.simulated_file(cluster)
    other = sqlite3.connect(path, isolation_level=None, timeout=0)
    other.execute(
        "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    assert "full" in collect(cluster, 20).error
    other.execute("DROP TRIGGER full")
    other.close()
    assert collect(cluster, 20).error == ""
    assert Workload.objects.exists()
