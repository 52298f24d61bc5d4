"""Dynamic resource allocation, the second way to devices: shut by quota, also where no policy stands."""

from collections.abc import Iterator

import pytest

from portal.inventory.models import Cluster
from portal.kubernetes import services
from portal.kubernetes.port import ClusterError
from tests.cluster import kubelet
from tests.cluster.kit import Manifest, wait_for
from tests.cluster.worlds import H100, NVIDIA, Team, World, device_pod, refusal

CLASS, SERVES, NETWORK = "gpu.nvidia.com", "served.nvidia.com", "nics.example.org"
DEVICES = f"{CLASS}.deviceclass.resource.k8s.io/devices"
IMPLICIT = f"deviceclass.resource.kubernetes.io/{CLASS}"
TOTAL = "evenshare-total"


def claim(namespace: str, name: str, klass: str = CLASS) -> Manifest:
    """A claim of one device of a class."""
    request = {"name": "gpu", "exactly": {"deviceClassName": klass}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [request]}},
    }


def add_class(world: World, name: str, serves: str = "") -> None:
    """A device class, which may serve an extended resource."""
    spec = {"extendedResourceName": serves} if serves else {}
    world.kit.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


@pytest.fixture
def promised(world: World, vision: Team) -> Team:
    """Vision has two H100 promised and one to borrow; the cluster has a device class."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    add_class(world, CLASS)
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, vision)
    return vision


def sync(world: World, team: Team) -> Manifest:
    """One sync; gives the quota over all once it is in force."""
    services.sync_cluster(cluster_id=Cluster.objects.get().pk, now=world.now)
    for name in ("evenshare-guaranteed-h100", "evenshare-burst-h100"):
        world.settled(team.namespace, name)
    return world.settled(team.namespace, TOTAL)


@pytest.fixture
def unguarded(world: World) -> Iterator[None]:
    """The policy against claims is not in force."""
    binding = world.kit.get("ValidatingAdmissionPolicyBinding", "evenshare-claims")
    world.kit.delete("ValidatingAdmissionPolicyBinding", "evenshare-claims")

    def lets_in(expected: bool) -> bool:
        try:
            world.kit.create(claim("default", "probe"))
        except ClusterError:
            return not expected
        world.kit.delete("ResourceClaim", "probe", "default")
        return expected

    wait_for(lambda: lets_in(True), "the policy to be gone")
    yield
    world.kit.apply({**binding, "metadata": {"name": "evenshare-claims"}})
    wait_for(lambda: lets_in(False), "the policy to be back")


def test_a_claim_is_refused_by_quota_where_the_policy_is_missing(
    world: World, promised: Team, unguarded: None
) -> None:
    said = refusal(world.kit.create, claim(promised.namespace, "second-way"), world.tenant)
    assert f"exceeded quota: {TOTAL}" in said
    assert f"{DEVICES}=1" in said


def test_every_device_class_is_zero_in_the_quota_over_all_and_the_server_takes_it_up(
    world: World, promised: Team
) -> None:
    found = sync(world, promised)
    assert found["status"]["hard"] == {
        f"requests.{NVIDIA}": "3", DEVICES: "0", f"requests.{IMPLICIT}": "0",
    }  # fmt: skip
    add_class(world, "late.example.org")
    later = sync(world, promised)["status"]["hard"]
    assert later["late.example.org.deviceclass.resource.k8s.io/devices"] == "0"
    assert services.sync_cluster(cluster_id=Cluster.objects.get().pk, now=world.now) is None


def test_a_class_that_the_limits_call_free_may_be_claimed(world: World, promised: Team) -> None:
    add_class(world, NETWORK)

    def free(names: str) -> None:
        change = {"data": {"free-device-classes": names}}
        world.kit.patch("ConfigMap", "evenshare-limits", change, "evenshare")

    free(f"other.example.org,{NETWORK}")
    try:
        hard = sync(world, promised)["status"]["hard"]
        assert not [key for key in hard if NETWORK in key]
        asked = claim(promised.namespace, "network", NETWORK)

        def made() -> bool:
            try:
                world.kit.create(asked, world.tenant)
            except ClusterError:
                return False
            return True

        wait_for(made, "the policy to know the free class")
    finally:
        free("")


def test_a_class_that_serves_a_resource_lets_the_scheduler_make_its_claims_and_nobody_else(
    world: World, promised: Team, unguarded: None
) -> None:
    add_class(world, SERVES, serves=NVIDIA)
    hard = sync(world, promised)["status"]["hard"]
    assert hard[f"{SERVES}.deviceclass.resource.k8s.io/devices"] == "3"
    kubelet.add_node(world.kit, "h100-dra", {}, H100)
    devices = {"name": "h100-dra", "generation": 1, "resourceSliceCount": 1}
    world.kit.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "h100-dra"},
            "spec": {
                "driver": CLASS, "nodeName": "h100-dra", "pool": devices,
                "devices": [{"name": "gpu-0"}],
            },
        }
    )  # fmt: skip
    world.kit.patch("Node", "h100-a", {"spec": {"unschedulable": True}})
    world.kit.create(device_pod(promised.namespace, "served"), world.tenant)
    assert kubelet.wait_bound(world.kit, promised.namespace, "served") == "h100-dra"
    used = world.settled(promised.namespace, TOTAL)["status"]["used"]
    assert used[f"requests.{NVIDIA}"] == "1", "the claim is not counted once more"
