"""A watcher on a real API server: what it is told, what it is not, and a server that dies."""

import json
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterKind
from portal.kubernetes import client, services
from portal.kubernetes.models import ReadMark
from portal.kubernetes.port import Gone
from portal.kubernetes.watching.source import Source, Subject
from portal.workloads.models import Pod, Workload
from tests import builders
from tests.cluster import kubelet
from tests.cluster.kit import Kit, Manifest, place, wait_for
from tests.cluster.server import Server, assets
from tests.cluster.worlds import H100, NVIDIA, Team, World, device_pod, job
from tests.portal.kubernetes import watched
from tests.portal.kubernetes.watched import Watched, states

PODS = Subject("Pod")


def newest(kit: Kit) -> int:
    """The version the server is at."""
    path = place("Pod").path()
    found = kit.admin.ask("GET", path, (("limit", "1"),))
    return int(found["metadata"]["resourceVersion"])


def begin(kit: Kit, cluster: Cluster, **settings: float) -> Watched:
    """A watcher that is told by bookmarks every few seconds where it is."""
    # A server sends one just before a watch ends, and else every minute.
    return watched.begun(cluster, lambda: newest(kit), watch_seconds=6, **settings)


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """A pool of eight, four of them Vision's."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 4, 0))
    services.sync_cluster(cluster_id=cluster.pk, now=world.now)
    for name in ("evenshare-guaranteed-h100", "evenshare-total"):
        world.settled(vision.namespace, name)
    return cluster


def test_a_job_is_followed_as_it_goes(world: World, vision: Team, cluster: Cluster) -> None:
    kit = world.kit
    watch = begin(kit, cluster)
    try:
        watch.until(lambda: watch.watch.current, "the rows to be in step")
        kit.create(job(vision.namespace, "train", tasks=2, suspend=True), world.tenant)
        watch.until(lambda: states() == {"train": "waiting"})
        kit.patch("Job", "train", {"spec": {"suspend": False}}, vision.namespace)
        wait_for(lambda: len(kit.find("Pod", vision.namespace)) == 2)
        names = [pod["metadata"]["name"] for pod in kit.find("Pod", vision.namespace)]
        for name in names:
            kubelet.run(kit, vision.namespace, name)
        watch.until(lambda: states() == {"train": "running"})
        assert set(Pod.objects.values_list("node__name", flat=True)) == {"h100-a"}
        for name in names:
            kubelet.finish(kit, vision.namespace, name)
        watch.until(lambda: states() == {"train": "succeeded"})
        kit.create(job(vision.namespace, "wide", tasks=6), world.tenant)
        watch.until(lambda: Workload.objects.filter(cluster_reason="cluster_quota").exists())
    finally:
        watch.kill()


def test_pods_that_are_deleted_by_force_and_jobs_by_name_end_at_once(
    world: World, vision: Team, cluster: Cluster
) -> None:
    kit = world.kit
    watch = begin(kit, cluster)
    try:
        watch.until(lambda: watch.watch.current, "the rows to be in step")
        kit.create(device_pod(vision.namespace, "alone"), world.tenant)
        kit.create(job(vision.namespace, "train"), world.tenant)
        kubelet.run(kit, vision.namespace, "alone")
        watch.until(lambda: states().get("alone") == "running")
        watch.until(lambda: states().get("train") in ("starting", "running"))
        kit.delete("Pod", "alone", vision.namespace)
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        path = place("Job").path(vision.namespace, "train")
        kit.admin.ask("DELETE", path, (), options)
        # The garbage collector takes its pod, whose grace nobody ends: no kubelet is there.
        [pod] = wait_for(lambda: kit.find("Pod", vision.namespace))
        wait_for(lambda: _is_going(kit, pod))
        kit.delete("Pod", pod["metadata"]["name"], vision.namespace)
        watch.until(lambda: set(states().values()) == {"cancelled"})
        assert not Pod.objects.filter(closed_at=None).exists()
        assert not Pod.objects.filter(estimated=True).exists()
    finally:
        watch.kill()


def _is_going(kit: Kit, pod: Manifest) -> bool:
    """Whether somebody asked the pod to go."""
    metadata = pod["metadata"]
    found = kit.get("Pod", metadata["name"], metadata["namespace"])
    return "deletionTimestamp" in found["metadata"]


def test_the_place_moves_on_by_bookmarks_where_nothing_happens(
    world: World, vision: Team, cluster: Cluster
) -> None:
    watch = begin(world.kit, cluster)
    try:
        watch.until(lambda: watch.watch.current, "the rows to be in step")
        lists = sum(stream.lists for stream in watch.sight.streams)
        for number in range(3):
            labels = {"metadata": {"labels": {"beat": str(number)}}}
            world.kit.patch("Namespace", vision.namespace, labels)
        version = newest(world.kit)
        watch.until(lambda: int(watch.sight.mark() or 0) >= version, "every bookmark", 40)
        assert sum(stream.lists for stream in watch.sight.streams) == lists
        watch.turn(3)
        watch.until(lambda: int(ReadMark.objects.get().version) >= version)
    finally:
        watch.kill()


# -- a server of its own, to be killed -----------------------------------------------------------


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Kit]]:
    """A control plane nobody else uses."""
    folder, home = assets(), tmp_path_factory.mktemp("own")
    if folder is None:
        pytest.skip("needs a control plane that may be killed: set KUBEBUILDER_ASSETS")
    server = Server(home / "server", folder)
    try:
        server.start()
        yield server, Kit(server.kubeconfig, home)
    finally:
        server.stop()


@pytest.fixture
def alone(own: tuple[Server, Kit], db: None, tmp_path: Path) -> Cluster:
    """That server with a pool and a namespace of a team."""
    server, kit = own
    now = datetime.now(UTC)
    settings: dict[str, object] = {"kubeconfig": str(server.kubeconfig)}
    cluster = inventory.register_cluster(
        name="own", kind=ClusterKind.KUBERNETES, now=now, actor_id=None, settings=settings
    )
    inventory.register_pool(
        cluster_id=cluster.pk, name="h100", gpu_model="H100", position=0, now=now, actor_id=None
    )
    kit.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
    if not kit.find("Node"):
        kubelet.add_node(kit, "h100-a", {NVIDIA: 8}, H100)
    inventory.register_namespace(
        cluster_id=cluster.pk, name="lab", team_id=builders.a_team("lab").pk, now=now,
        actor_id=None,
    )  # fmt: skip
    return cluster


def plain_pod(name: str) -> dict[str, object]:
    """A device pod where no class is asked for."""
    pod = device_pod("lab", name)
    del pod["spec"]["priorityClassName"]
    return dict(pod)


def compact(server: Server) -> None:
    """Let the store forget everything up to now."""

    def ask(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(
            server.store_url + path, data=json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.loads(answer.read()))

    revision = ask("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})


def test_a_server_that_was_killed_forgets_what_happened_and_the_watcher_lists_anew(
    own: tuple[Server, Kit], alone: Cluster
) -> None:
    server, kit = own
    for name in ("stays", "goes", "ends"):
        kit.create(plain_pod(name))
        kubelet.run(kit, "lab", name)
    watch = begin(kit, alone)
    try:
        watch.until(lambda: set(states().values()) == {"running"}, "three pods")
        version = str(newest(kit))
        lists = sum(stream.lists for stream in watch.sight.streams)
        kubelet.finish(kit, "lab", "ends")
        kit.delete("Pod", "goes", "lab")
        server.kill("kube-apiserver")
        compact(server)
        watch.turn(5)
        server.start_api()
        kit.create(plain_pod("comes"))
        expected = {"stays": "running", "ends": "succeeded"}
        watch.until(lambda: expected.items() <= states().items(), "what happened meanwhile", 60)
        watch.until(lambda: states().get("goes") == "cancelled", "the deleted one", 60)
        watch.until(lambda: "comes" in states(), "the new one", 60)
        watch.until(lambda: sum(stream.lists for stream in watch.sight.streams) > lists)
        source = Source(lambda: client.connect({"kubeconfig": str(server.kubeconfig)}))
        with pytest.raises(Gone):
            list(source.watch(PODS, version, 3))
        assert not Pod.objects.filter(workload__name="goes", closed_at=None).exists()
    finally:
        watch.kill()


def test_a_watcher_whose_place_is_too_old_goes_on_from_a_list(
    own: tuple[Server, Kit], alone: Cluster
) -> None:
    _, kit = own
    ReadMark.objects.create(cluster=alone, version="1")
    watch = begin(kit, alone)
    try:
        watch.until(lambda: watch.watch.current, "the rows to be in step")
        watch.until(lambda: int(ReadMark.objects.get().version) > 1, "a new place")
        assert "stays" in states()
    finally:
        watch.kill()
