"""One cluster for all tests here, with our policies and account installed as the README says.

`KUBECONFIG_TEST` names a cluster to throw away, as its admin; else `KUBEBUILDER_ASSETS` names the
folder of a control plane, which is started on loopback. Without either every test is skipped.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.inventory.models import Cluster
from portal.kubernetes.port import Refused
from tests.cluster import kubelet
from tests.cluster.admitting import installed, ray
from tests.cluster.kit import DEPLOY, Kit, kustomized, place, wait_for
from tests.cluster.labs import Lab
from tests.cluster.server import Server, assets
from tests.cluster.worlds import A100, H100, NVIDIA, PEOPLE, Team, World, clean, set_up_tenants

HERE = Path(__file__).parent
MISSING = (
    "needs a Kubernetes API server: set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, "
    "kube-scheduler and kube-controller-manager, or KUBECONFIG_TEST to an admin's kubeconfig of a "
    "cluster to throw away"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the cluster; where there is none each test says so."""
    there = os.environ.get("KUBECONFIG_TEST") or assets()
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            if not there:
                item.add_marker(pytest.mark.skip(reason=f"{item.name} {MISSING}"))


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    """The cluster, with everything of `deploy/kubernetes/quota` in force."""
    home = tmp_path_factory.mktemp("cluster")
    named, folder = os.environ.get("KUBECONFIG_TEST", ""), assets()
    if named:
        kit = Kit(Path(named), home)
        _install(kit)
        yield kit
        return
    assert folder
    server = Server(home / "server", folder)
    try:
        server.start()
        kit = Kit(server.kubeconfig, home)
        _install(kit)
        yield kit
    finally:
        server.stop()


def _install(kit: Kit) -> None:
    """Apply what the README says, and wait until the last policy refuses what it should."""
    for manifest in kustomized(DEPLOY / "quota"):
        kit.apply(manifest)
    set_up_tenants(kit)
    wait_for(lambda: _refuses(kit), "the policies to be in force")


def _refuses(kit: Kit) -> bool:
    """Whether a device pod of nobody, and a claim of one, are refused by now."""
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    spec = {"containers": [{"name": "c", "image": "x", "resources": limits}]}
    metadata = {"name": "probe", "namespace": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "annotations": {"evenshare.io/user": "somebody-else"}},
        "spec": {"suspend": True, "template": {"spec": {**spec, "restartPolicy": "Never"}}},
    }
    for kind, manifest in (("Pod", pod), ("Job", job)):
        try:
            kit.admin.ask("POST", place(kind).path("default"), [("dryRun", "All")], manifest)
        except Refused as refusal:
            if "evenshare" not in str(refusal):
                return False
        else:
            return False
    return True


@pytest.fixture
def world(kit: Kit, db: None) -> Iterator[World]:
    """The cluster as a test finds and leaves it: no nodes, teams, quotas or classes of ours."""
    yield World(kit, kit.sign_in("evenshare", "evenshare"), kit.sign_in(PEOPLE, "tenant"))
    clean(kit)


@pytest.fixture
def vision(world: World) -> Team:
    """A team with a namespace of its own in the cluster."""
    return world.team("vision")


@pytest.fixture(scope="module")
def admission(kit: Kit) -> Iterator[None]:
    """Everything of mode admission, and the kinds of Ray, for the tests of one module."""
    with installed(kit, "admission"), ray(kit):
        yield


@pytest.fixture
def lab(admission: None, world: World) -> Lab:
    """Two teams in a cluster in admission mode."""
    return Lab(world)


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """Two pools whose devices have the same name."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    kubelet.add_node(world.kit, "a100-a", {NVIDIA: 8}, A100)
    return world.add()
