"""A manifest of the page New job, handed in as a tenant: it is let in, and its pods are placed."""

import pytest
import yaml

from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import composing, services
from portal.kubernetes.composing import BURST, DEPLOYMENT, GUARANTEED, JOB, Order
from portal.workloads.models import Workload
from tests.cluster import kubelet
from tests.cluster.kit import wait_for
from tests.cluster.worlds import H100, NVIDIA, Team, World


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """A pool of eight: Vision has two within its guarantee and two beyond."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 2, 2))
    services.sync_cluster(cluster_id=cluster.pk, now=world.now)
    for name in ("evenshare-guaranteed-h100", "evenshare-burst-h100", "evenshare-total"):
        world.settled(vision.namespace, name)
    return cluster


@pytest.mark.parametrize("charge", [GUARANTEED, BURST])
@pytest.mark.parametrize("kind", [JOB, DEPLOYMENT])
def test_what_the_page_writes_is_let_in_and_placed(
    world: World, vision: Team, cluster: Cluster, kind: str, charge: str
) -> None:
    order = Order(
        kind=kind, name="train", namespace=vision.namespace, pool="h100", resource=NVIDIA,
        mode=ClusterMode.QUOTA, job_class="training", pods=2, gpus=1, cpu=2, memory_gib=4,
        image="registry/train:1", command="python train.py", charge=charge,
        duration_seconds=3600, save_seconds=60, restore_seconds=30,
    )  # fmt: skip
    world.kit.create(yaml.safe_load(composing.text(order)), world.tenant)

    def placed() -> bool:
        pods = world.kit.find("Pod", vision.namespace)
        return len(pods) == 2 and all(pod["spec"].get("nodeName") for pod in pods)

    wait_for(placed, "two pods to be bound")
    services.collect(cluster_id=cluster.pk, now=world.now)
    row = Workload.objects.get()
    assert (row.name, row.team, row.pool and row.pool.name) == ("train", vision.row, "h100")
    assert (row.tasks, row.gpu_milli, row.kind, row.duration_seconds) == (2, 1000, "training", 3600)
    assert (row.save_seconds, row.restore_seconds) == (60, 30)
    assert {pod.priority_class for pod in row.pods.all()} == {f"evenshare-{charge}-h100"}
