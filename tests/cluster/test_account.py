"""Our own account: what the modes observe and quota need works, anything more is refused."""

import pytest

from portal.inventory.models import ClusterMode
from portal.kubernetes import policies, rights
from portal.kubernetes.client import connect
from portal.kubernetes.places import PLACES
from portal.kubernetes.port import MANAGER
from portal.kubernetes.real import KubernetesCluster
from tests.cluster import kubelet
from tests.cluster.worlds import H100, NVIDIA, Team, World, device_pod, refusal

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


def test_the_account_reads_all_it_needs(world: World) -> None:
    port = world.port()
    for read in (port.nodes, port.namespaces, port.quotas, port.priority_classes, port.events):
        read()
    found = port.owners()
    port.owners(since=found.version)
    port.pods(since=found.version)


def test_the_account_has_every_right_its_mode_needs_and_what_another_lacks_is_named(
    world: World,
) -> None:
    port = world.port()
    assert port.denied(rights.needed(ClusterMode.QUOTA)) == []
    kubeconfig = {"kubeconfig": str(world.tenant_config)}
    of_a_tenant = KubernetesCluster(connect(kubeconfig)).denied(rights.needed(ClusterMode.QUOTA))
    said = [str(right) for right in of_a_tenant]
    assert said[:2] == ["get nodes", "list nodes"]
    assert "create resourcequotas" in said
    assert "write figures.evenshare.io" in said
    assert "get configmaps evenshare/evenshare-limits" in said
    assert not [line for line in said if "namespaces" in line], "these a tenant has"
    assert not [line for line in said if "ray.io" in line], "the cluster has no Ray"


def test_all_policies_stand_and_the_server_finds_no_fault_in_their_types(world: World) -> None:
    port = world.port()
    assert policies.missing(port.policies(), "quota") == []
    for item in port.policies().items:
        if item["kind"] == policies.POLICY:
            warnings = item.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
            assert not warnings, item["metadata"]["name"]


@pytest.mark.parametrize("kind", ["secrets", "configmaps", "serviceaccounts"])
def test_the_account_reads_no_secrets_and_nothing_else(world: World, kind: str) -> None:
    way = connect({"kubeconfig": str(world.account)})
    said = refusal(way.ask, "GET", f"/api/v1/{kind}")
    assert "cannot list resource" in said


def test_the_account_makes_evicts_and_deletes_no_pods(world: World, vision: Team) -> None:
    way = connect({"kubeconfig": str(world.account)})
    pod = device_pod(vision.namespace, "mine")
    assert "cannot create resource" in refusal(world.kit.create, pod, way)
    port = world.port()
    assert "cannot create resource" in refusal(port.evict, vision.namespace, "any")
    assert "cannot delete resource" in refusal(port.delete, "Pod", vision.namespace, "any")


def test_the_account_writes_no_quota_that_is_not_its_own(world: World, vision: Team) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "theirs", "namespace": vision.namespace},
        "spec": {"hard": {"pods": "1"}},
    }
    said = refusal(world.port().apply, quota, manager=MANAGER)
    assert "writes only quotas and classes named evenshare-*" in said
    world.kit.apply(quota)
    said = refusal(world.port().delete, "ResourceQuota", vision.namespace, "theirs")
    assert "writes only quotas and classes named evenshare-*" in said


def test_the_account_makes_and_deletes_no_namespace(world: World, vision: Team) -> None:
    fresh = {**NAMESPACE, "metadata": {"name": "fresh", "labels": {"evenshare.io/team": "vision"}}}
    assert "cannot create resource" in refusal(world.port().apply, fresh, manager=MANAGER)
    said = refusal(world.port().delete, "Namespace", "", vision.namespace)
    assert "cannot delete resource" in said


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
        {"annotations": {"owner": "us"}},
        {"finalizers": ["evenshare.io/stay"]},
    ],
)
def test_the_account_changes_nothing_of_a_namespace_but_its_team(
    world: World, vision: Team, metadata: dict[str, object]
) -> None:
    change = {**NAMESPACE, "metadata": {"name": vision.namespace, **metadata}}
    said = refusal(world.port().apply, change, manager=MANAGER)
    assert "changes one label of a namespace or a node, nothing else" in said


def test_the_account_labels_nodes_and_cordons_none(world: World) -> None:
    kubelet.add_node(world.kit, "plain", {NVIDIA: 8})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "plain"}}
    labelled = {**node, "metadata": {"name": "plain", "labels": {"evenshare.io/pool": "h100"}}}
    world.port().apply(labelled, manager=MANAGER)
    assert world.kit.get("Node", "plain")["metadata"]["labels"]["evenshare.io/pool"] == "h100"
    cordoned = {**labelled, "spec": {"unschedulable": True}}
    said = refusal(world.port().apply, cordoned, manager=MANAGER)
    assert "changes one label of a namespace or a node, nothing else" in said


def test_the_account_cannot_loosen_the_policies(world: World) -> None:
    way = connect({"kubeconfig": str(world.account)})
    path = PLACES["ValidatingAdmissionPolicyBinding"].path(name="evenshare-quotas")
    assert "cannot delete resource" in refusal(way.ask, "DELETE", path)


def test_a_node_may_bring_its_pool_along_but_not_change_it(world: World) -> None:
    kubelet.add_node(world.kit, "joined", {NVIDIA: 8}, H100)
    label = {"metadata": {"labels": {"evenshare.io/pool": "a100"}}}
    who = world.tenant
    said = refusal(world.kit.patch, "Node", "joined", label, who=who)
    assert "cannot patch resource" in said
