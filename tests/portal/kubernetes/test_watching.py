"""A watcher keeps rows in step with a cluster, whatever happens on the way to it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, Node, NodeState
from portal.kubernetes import services
from portal.kubernetes.models import ReadMark
from portal.kubernetes.watching import streams
from portal.usage.models import LedgerEntry
from portal.workloads.models import Pod, StageEvent, Workload, WorkloadState
from tests.api_server import controllers, serving
from tests.api_server.controllers import at
from tests.api_server.faults import Fault, broken, busy
from tests.api_server.serving import ApiServer
from tests.portal.kubernetes import watched
from tests.portal.kubernetes.watched import bare, states, submit, watching

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """An API server of our own, and a watcher that comes back soon."""
    monkeypatch.setattr(streams, "FIRST_WAIT", 0.02)
    with serving.serving(bookmark_seconds=0.1) as running:
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Cluster:
    """Two machines of eight."""
    return watched.a_cluster(server, tmp_path)


def rows() -> list[object]:
    """What a look writes, but for when and in which order."""
    found: list[object] = []
    for model, names in (
        (Workload, ("uid", "name", "state", "tasks", "team_id", "pool_id", "cluster_reason",
                    "submitted_at", "scheduled_at", "ready_at", "ended_at")),
        (Pod, ("uid", "node__name", "scheduled_at", "ready_at", "stopping_at", "closed_at", "why")),
        (StageEvent, ("workload__uid", "at", "state", "why")),
        (Node, ("name", "gpus", "state")),
    ):  # fmt: skip
        found += sorted(map(repr, model._default_manager.values_list(*names)))
    return found


def look_anew(cluster: Cluster) -> None:
    """List everything as it is, and nothing of what was."""
    ReadMark.objects.all().delete()
    found = services.collect(cluster_id=cluster.pk, now=datetime.now(UTC))
    assert found.error == ""


def test_a_job_is_followed_from_its_first_second_to_its_last(
    server: ApiServer, cluster: Cluster
) -> None:
    store = server.store
    with watching(cluster, server) as watch:
        submit(store, "train", tasks=2, suspend=True)
        watch.until(lambda: states() == {"train": "waiting"})
        assert Workload.objects.get().cluster_reason == "cluster_suspended"
        store.merge(at("Job", "train", "vision"), {"spec": {"suspend": False}})
        controllers.run_jobs(store)
        watch.until(lambda: states() == {"train": "admitted"})
        controllers.place(store)
        watch.until(lambda: states() == {"train": "starting"})
        controllers.settle(store)
        watch.until(lambda: states() == {"train": "running"})
        for pod in store.all("Pod"):
            controllers.finish(store, pod)
        controllers.settle(store)
        watch.until(lambda: states() == {"train": "succeeded"})
    assert set(Pod.objects.values_list("node__name", flat=True)) <= {"node-0", "node-1"}


def test_what_a_watcher_writes_is_what_a_look_would_have(
    server: ApiServer, cluster: Cluster
) -> None:
    store = server.store
    with watching(cluster, server) as watch:
        for number in range(6):
            submit(store, f"job-{number}", tasks=1 + number % 3, gpus=2)
        bare(store, "alone", 1)
        controllers.settle(store)
        store.delete(at("Job", "job-1", "vision"))
        controllers.settle(store)
        watch.in_step()
    seen = rows()
    look_anew(cluster)
    assert rows() == seen
    assert Workload.objects.filter(state=WorkloadState.CANCELLED).count() == 1


def test_a_quiet_cluster_costs_no_write_and_no_row(server: ApiServer, cluster: Cluster) -> None:
    submit(server.store, "train")
    controllers.settle(server.store)
    with watching(cluster, server) as watch:
        flushes, asked = watch.watch.flushes, len(server.script.asked)
        before = rows()
        watch.turn(20)
        assert (watch.watch.flushes, len(server.script.asked)) == (flushes, asked)
        assert rows() == before
    assert server.script.writes() == []


def test_machines_that_come_break_and_go_are_followed(server: ApiServer, cluster: Cluster) -> None:
    store = server.store
    with watching(cluster, server) as watch:
        controllers.add_node(store, "node-2", {watched.GPU: 8}, "a100")
        watch.until(lambda: Node.objects.filter(name="node-2").exists())
        down = {"type": "Ready", "status": "False", "lastTransitionTime": store.stamp()}
        store.set_status(at("Node", "node-0"), {"conditions": [down]})
        store.merge(at("Node", "node-1"), {"spec": {"unschedulable": True}})
        store.delete(at("Node", "node-2"))
        watch.in_step()
        known = dict(Node.objects.filter(removed_at=None).values_list("name", "state"))
    assert known == {"node-0": NodeState.DOWN, "node-1": NodeState.CORDONED}


def test_a_beat_of_a_machine_is_no_change(server: ApiServer, cluster: Cluster) -> None:
    store = server.store
    with watching(cluster, server) as watch:
        flushes = watch.watch.flushes
        [ready] = store.get(at("Node", "node-0"))["status"]["conditions"]
        told = {**ready, "lastHeartbeatTime": store.stamp()}
        store.set_status(at("Node", "node-0"), {"conditions": [told]})
        watch.in_step()
        assert watch.watch.flushes == flushes


def test_a_pod_told_before_its_owner_and_its_machine_is_theirs_at_once(
    server: ApiServer, cluster: Cluster
) -> None:
    store = server.store
    with watching(cluster, server) as watch:
        # Streams are not in step: those of jobs and machines hang while pods come.
        server.script.add(Fault(path="/jobs|/nodes", watch=True, after=1.5, times=2))
        server.cut_all()
        controllers.add_node(store, "late", {watched.GPU: 16}, "a100")
        submit(store, "train", gpus=16)
        controllers.settle(store)
        watch.until(lambda: Pod.objects.exists())
        row = Workload.objects.get()
        assert (row.owner_kind, row.name) == ("Job", "train")
        watch.in_step()
    row = Workload.objects.get()
    assert (row.owner_kind, row.state) == ("Job", "running")
    assert row.pods.get().node is not None


def test_a_namespace_that_changes_hands_takes_its_jobs_along(
    server: ApiServer, cluster: Cluster
) -> None:
    submit(server.store, "train")
    controllers.settle(server.store)
    with watching(cluster, server) as watch:
        inventory.register_namespace(
            cluster_id=cluster.pk, name="vision", team_id=None,
            now=datetime.now(UTC),
        )  # fmt: skip
        watch.until(lambda: Workload.objects.get().team is None)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(watch=True, cut=1, times=30), Fault(watch=True, doubled=True, times=60),
        Fault(watch=True, late=True, times=60), busy(1, times=4), broken(times=6),
        Fault(after=0.3, times=6), Fault(watch=True, cut=0, times=30),
        Fault(watch=False, method="GET", status=410, times=3), Fault(watch=True, status=410, times=3),
        Fault(watch=False, after=3.0, times=1),
    ],
    ids=["cut", "doubled", "late", "429", "500", "slow", "cut at once", "list gone", "watch gone",
         "no answer in time"],
)  # fmt: skip
def test_whatever_goes_wrong_rows_end_in_step(
    server: ApiServer, cluster: Cluster, fault: Fault
) -> None:
    store = server.store
    submit(store, "before", tasks=2)
    controllers.settle(store)
    server.script.add(fault)
    with watching(cluster, server) as watch:
        for number in range(4):
            submit(store, f"job-{number}", gpus=2)
            controllers.settle(store)
            watch.turn(2)
            if number == 1:
                server.cut_all()
        for pod in store.all("Pod")[:2]:
            controllers.finish(store, pod)
        store.delete(at("Job", "job-3", "vision"))
        controllers.settle(store)
        watch.in_step()
    expected = {"before": "running", "job-0": "running", "job-1": "running", "job-2": "running",
                "job-3": "cancelled"}  # fmt: skip
    before = dict(Workload.objects.filter(name="before").values_list("name", "state"))
    assert states() == {**expected, **before}
    seen = rows()
    look_anew(cluster)
    assert rows() == seen


def test_after_a_restart_of_the_server_what_was_deleted_meanwhile_is_closed(
    server: ApiServer, cluster: Cluster
) -> None:
    store = server.store
    submit(store, "stays")
    submit(store, "goes")
    controllers.settle(store)
    with watching(cluster, server) as watch:
        lists = sum(stream.lists for stream in watch.sight.streams)
        server.stop()
        store.delete(at("Job", "goes", "vision"))
        controllers.settle(store)
        watch.turn(10)
        server.start()
        watch.in_step()
        assert sum(stream.lists for stream in watch.sight.streams) > lists
    assert states() == {"stays": "running", "goes": "cancelled"}
    assert not Pod.objects.filter(workload__name="goes", closed_at=None).exists()


def test_a_server_that_stays_away_is_told_on_the_clusters_row(
    server: ApiServer, cluster: Cluster
) -> None:
    with watching(cluster, server) as watch:
        server.stop()

        def told() -> str:
            return Cluster.objects.get(pk=cluster.pk).last_error

        watch.until(told, "the error")
        seen_at = Cluster.objects.get(pk=cluster.pk).seen_at
        watch.turn(10)
        assert Cluster.objects.get(pk=cluster.pk).seen_at == seen_at
        server.start()
        watch.until(lambda: not told())


def test_a_kind_that_nobody_installed_keeps_no_other_waiting(
    server: ApiServer, cluster: Cluster
) -> None:
    server.script.add(Fault(path="rayjobs|jobsets|trainjobs|rayclusters", status=404, times=99))
    with watching(cluster, server):
        pass


def has_succeeded(name: str) -> bool:
    """Whether the job is said to have."""
    return states()[name] == WorkloadState.SUCCEEDED


def test_clocks_that_disagree_change_nothing_but_the_times(
    server: ApiServer, cluster: Cluster
) -> None:
    store = server.store
    for name, skew in (("early", -3600), ("late", 3600)):
        controllers.later(store, skew)
        with watching(cluster, server) as watch:
            submit(store, name)
            controllers.settle(store)
            watch.in_step()
            [pod] = [p for p in store.all("Pod") if p["metadata"]["name"].startswith(name)]
            controllers.finish(store, pod)
            controllers.settle(store)
            watch.in_step()
            watch.until(partial(has_succeeded, name))
        controllers.later(store, -skew)
    for row in LedgerEntry.objects.all():
        assert row.from_at < row.to_at


def test_an_object_that_cannot_be_read_keeps_no_other_waiting(
    server: ApiServer, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    group = {"replicas": "many", "template": {"spec": watched.spec()}}
    odd = {"headGroupSpec": {}, "workerGroupSpecs": [group]}
    server.store.create(at("RayCluster", "odd", "vision"), {"spec": odd})
    with watching(cluster, server) as watch:
        submit(server.store, "train")
        controllers.settle(server.store)
        watch.until(lambda: states() == {"train": "running"})
    assert "stay as they are" in caplog.text


def test_the_mark_is_never_ahead_of_the_rows(server: ApiServer, cluster: Cluster) -> None:
    with watching(cluster, server) as watch:
        before = int(ReadMark.objects.get().version)
        submit(server.store, "train")
        controllers.settle(server.store)
        assert int(ReadMark.objects.get().version) == before
        watch.in_step()
        watch.until(lambda: int(ReadMark.objects.get().version) >= server.store.version)
        assert states() == {"train": "running"}


def test_a_cluster_restored_from_an_earlier_copy_is_looked_at_anew(
    server: ApiServer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BOOKMARK_SECONDS", 0.3)
    store = server.store
    submit(store, "old")
    controllers.settle(store)
    copied = store.version
    with watching(cluster, server, watch_seconds=1) as watch:
        submit(store, "lost")
        controllers.settle(store)
        watch.in_step()
        assert states() == {"old": "running", "lost": "running"}
        server.stop()
        # The copy knows nothing of what came after it.
        for kind in ("Job", "Pod"):
            for name in [n for n in store.shelves[kind, "vision"] if n.startswith("lost")]:
                del store.shelves[kind, "vision"][name]
        store.version = copied
        store.compact()
        server.start()
        watch.until(lambda: not watch.watch.is_well(), "it to give up")
        watch.leave()
    with watching(cluster, server) as watch:
        assert states() == {"old": "running", "lost": "cancelled"}
        submit(store, "new")
        controllers.settle(store)
        watch.until(lambda: states().get("new") == "running")
