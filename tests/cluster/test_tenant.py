"""A tenant who means harm, with every right in its namespaces: each way out is shut or shown."""

import pytest

from portal.inventory.models import Cluster
from portal.kubernetes import services
from portal.kubernetes.models import Drift
from portal.kubernetes.port import Refused
from tests.cluster import kubelet
from tests.cluster.kit import place
from tests.cluster.worlds import A100, H100, NVIDIA, Team, World, device_pod, job, refusal

MIG = "nvidia.com/mig-1g.10gb"


@pytest.fixture
def promised(world: World, vision: Team) -> Team:
    """Vision has two H100 promised and one to borrow, nothing else; quotas are in force."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    kubelet.add_node(world.kit, "a100-a", {NVIDIA: 8}, A100)
    kubelet.add_node(
        world.kit, "mig-a", {MIG: 7}, {**A100, "evenshare.io/pool": "a100-mig-1g-10gb"}
    )
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 2, 1))
    run = services.sync_cluster(cluster_id=cluster.pk, now=world.now)
    assert run is not None
    assert run.state == "done", run.message
    for name in ("evenshare-guaranteed-h100", "evenshare-burst-h100", "evenshare-total"):
        world.settled(vision.namespace, name)
    return vision


def test_a_pod_in_its_pool_and_class_and_within_its_quota_is_let_in(
    world: World, promised: Team
) -> None:
    made = world.kit.create(device_pod(promised.namespace, "good"), world.tenant)
    assert made["spec"]["priority"] == 100_000


def test_a_device_pod_without_a_class_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "none")
    del pod["spec"]["priorityClassName"]
    said = refusal(world.kit.create, pod, world.tenant)
    assert "carries the priority class evenshare-guaranteed-h100 or evenshare-burst-h100" in said


def test_a_device_pod_with_another_pools_class_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "other", priorityClassName="evenshare-guaranteed-a100")
    said = refusal(world.kit.create, pod, world.tenant)
    assert "A pod of the pool h100 carries the priority class" in said


def test_a_device_pod_without_a_node_selector_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "anywhere", nodeSelector={})
    said = refusal(world.kit.create, pod, world.tenant)
    assert "names its pool by the node selector evenshare.io/pool" in said


def test_a_device_pod_with_a_class_of_the_clusters_own_is_refused(
    world: World, promised: Team
) -> None:
    pod = device_pod(promised.namespace, "vip", priorityClassName="system-cluster-critical")
    assert "carries the priority class" in refusal(world.kit.create, pod, world.tenant)


def test_a_device_pod_that_names_its_node_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "here", nodeName="h100-a")
    assert "placed by the scheduler" in refusal(world.kit.create, pod, world.tenant)


def test_devices_of_an_init_container_count_too(world: World, promised: Team) -> None:
    step = {"name": "step", "image": "x", "resources": {"limits": {NVIDIA: "1"}}}
    plain = [{"name": "main", "image": "x"}]
    pod = device_pod(
        promised.namespace, "init", initContainers=[step], containers=plain, nodeSelector={}
    )
    assert "names its pool" in refusal(world.kit.create, pod, world.tenant)


def test_a_pod_without_devices_in_one_of_our_classes_is_refused(
    world: World, promised: Team
) -> None:
    pod = device_pod(promised.namespace, "cpu", containers=[{"name": "main", "image": "x"}])
    assert "are for pods with devices" in refusal(world.kit.create, pod, world.tenant)


def test_a_pod_that_asks_for_no_device_is_none_of_our_business(
    world: World, promised: Team
) -> None:
    pod = device_pod(promised.namespace, "plain", containers=[{"name": "main", "image": "x"}])
    del pod["spec"]["priorityClassName"], pod["spec"]["nodeSelector"]
    world.kit.create(pod, world.tenant)


def test_a_grace_period_of_a_year_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "slow", terminationGracePeriodSeconds=31_536_000)
    assert "is gone within 600 seconds" in refusal(world.kit.create, pod, world.tenant)


def test_a_pod_that_is_deleted_with_a_grace_of_a_year_stays_as_it_is(
    world: World, promised: Team
) -> None:
    world.kit.create(device_pod(promised.namespace, "forever"), world.tenant)
    kubelet.run(world.kit, promised.namespace, "forever")
    path = place("Pod").path(promised.namespace, "forever")
    year = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 31_536_000}
    assert "is gone within 600 seconds" in refusal(world.tenant.ask, "DELETE", path, (), year)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "forever", "namespace": promised.namespace},
        "deleteOptions": {"gracePeriodSeconds": 31_536_000},
    }
    said = refusal(world.tenant.ask, "POST", f"{path}/eviction", (), eviction)
    assert "is gone within the cluster's general grace period" in said
    world.tenant.ask("DELETE", path, [("gracePeriodSeconds", "60")])
    metadata = world.kit.get("Pod", "forever", promised.namespace)["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 60


def test_a_device_pod_in_a_namespace_without_a_team_is_refused(
    world: World, promised: Team
) -> None:
    lost = world.namespace("lost")
    said = refusal(world.kit.create, device_pod(lost, "stray"), world.tenant)
    assert "only in namespaces of a team" in said


def test_labelling_a_namespace_for_a_team_is_refused(world: World, promised: Team) -> None:
    lost = world.namespace("lost-too")
    label = {"metadata": {"labels": {"evenshare.io/team": "vision"}}}
    said = refusal(world.kit.patch, "Namespace", lost, label, who=world.tenant)
    assert "evenshare.io/team is written by Evenshare" in said


def test_labelling_a_namespace_through_its_status_is_refused(world: World, promised: Team) -> None:
    lost = world.namespace("lost-three")
    label = {"metadata": {"labels": {"evenshare.io/team": "vision"}}}
    said = refusal(world.kit.patch, "Namespace", lost, label, part="status", who=world.tenant)
    assert "evenshare.io/team is written by Evenshare" in said


def test_taking_a_namespace_to_another_team_is_refused(world: World, promised: Team) -> None:
    label = {"metadata": {"labels": {"evenshare.io/team": "speech"}}}
    said = refusal(world.kit.patch, "Namespace", promised.namespace, label, who=world.tenant)
    assert "evenshare.io/team is written by Evenshare" in said


def test_a_new_namespace_that_says_it_is_a_teams_is_refused(world: World, promised: Team) -> None:
    metadata = {"name": "more-room", "labels": {"evenshare.io/team": "vision"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    said = refusal(world.kit.create, namespace, world.tenant)
    assert "evenshare.io/team is written by Evenshare" in said


def test_more_namespaces_give_no_more_devices(world: World, promised: Team) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more-rooms"}}
    world.kit.create(namespace, world.tenant)
    world.namespace("more-rooms")
    said = refusal(world.kit.create, device_pod("more-rooms", "extra"), world.tenant)
    assert "only in namespaces of a team" in said


@pytest.mark.parametrize("quota", ["evenshare-guaranteed-h100", "evenshare-total"])
def test_raising_our_quota_is_refused(world: World, promised: Team, quota: str) -> None:
    more = {"spec": {"hard": {f"requests.{NVIDIA}": "99"}}}
    said = refusal(
        world.kit.patch, "ResourceQuota", quota, more, promised.namespace, who=world.tenant
    )
    assert "are written by Evenshare" in said


def test_raising_what_is_enforced_through_the_status_is_refused(
    world: World, promised: Team
) -> None:
    more = {"status": {"hard": {f"requests.{NVIDIA}": "99"}}}
    said = refusal(
        world.kit.patch, "ResourceQuota", "evenshare-total", more, promised.namespace,
        part="status", who=world.tenant,
    )  # fmt: skip
    assert "are written by Evenshare" in said


def test_deleting_our_quota_is_refused(world: World, promised: Team) -> None:
    said = refusal(
        world.kit.delete, "ResourceQuota", "evenshare-total", promised.namespace, world.tenant
    )
    assert "are written by Evenshare" in said


def test_deleting_all_quotas_at_once_spares_ours(world: World, promised: Team) -> None:
    own = {"apiVersion": "v1", "kind": "ResourceQuota",
           "metadata": {"name": "own", "namespace": promised.namespace},
           "spec": {"hard": {"pods": "9"}}}  # fmt: skip
    world.kit.create(own, world.tenant)
    path = place("ResourceQuota").path(promised.namespace)
    with pytest.raises(Refused, match="written by Evenshare"):
        world.tenant.ask("DELETE", path)
    names = {
        item["metadata"]["name"] for item in world.kit.find("ResourceQuota", promised.namespace)
    }
    assert {"evenshare-total", "evenshare-guaranteed-h100"} <= names


def test_more_than_was_promised_is_refused_by_the_classs_quota(
    world: World, promised: Team
) -> None:
    world.kit.create(device_pod(promised.namespace, "two", devices={NVIDIA: 2}), world.tenant)
    said = refusal(world.kit.create, device_pod(promised.namespace, "third"), world.tenant)
    assert "exceeded quota: evenshare-guaranteed-h100" in said


def test_another_pools_devices_are_refused_although_the_resource_has_the_same_name(
    world: World, promised: Team
) -> None:
    pod = device_pod(
        promised.namespace, "a100", priorityClassName="evenshare-burst-a100",
        nodeSelector={"evenshare.io/pool": "a100"},
    )  # fmt: skip
    assert "exceeded quota: evenshare-burst-a100" in refusal(world.kit.create, pod, world.tenant)


def test_another_device_resource_is_refused(world: World, promised: Team) -> None:
    pod = device_pod(promised.namespace, "slice", devices={MIG: 1})
    said = refusal(world.kit.create, pod, world.tenant)
    assert f"requests.{MIG}=1" in said
    assert "exceeded quota: evenshare-" in said


def test_a_claim_of_a_device_class_is_refused(world: World, promised: Team) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "second-way", "namespace": promised.namespace},
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]
            }
        },
    }
    said = refusal(world.kit.create, claim, world.tenant)
    assert "claims of device classes are not counted" in said


def test_a_device_class_asked_for_as_a_resource_is_refused(world: World, promised: Team) -> None:
    resource = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    pod = device_pod(promised.namespace, "implicit", devices={resource: 1})
    said = refusal(world.kit.create, pod, world.tenant)
    assert "not through device classes" in said


@pytest.mark.parametrize("mark", ["charged-to", "devices"])
def test_a_mark_of_ours_on_a_pod_is_refused(world: World, promised: Team, mark: str) -> None:
    pod = device_pod(promised.namespace, "marked")
    pod["metadata"]["annotations"] = {f"evenshare.io/{mark}": "0"}
    assert "are written by Evenshare" in refusal(world.kit.create, pod, world.tenant)


def test_a_mark_put_on_a_pod_later_is_refused_also_through_its_status(
    world: World, promised: Team
) -> None:
    world.kit.create(device_pod(promised.namespace, "later"), world.tenant)
    note = {"metadata": {"annotations": {"evenshare.io/charged-to": "reserved"}}}
    for part in ("", "status"):
        said = refusal(
            world.kit.patch, "Pod", "later", note, promised.namespace, part=part, who=world.tenant
        )
        assert "are written by Evenshare" in said


def test_asking_in_somebody_elses_name_is_refused(world: World, promised: Team) -> None:
    asked = job(promised.namespace, "not-me")
    asked["metadata"]["annotations"] = {"evenshare.io/user": "minji"}
    said = refusal(world.kit.create, asked, world.tenant)
    assert "names who asks: system:serviceaccount:people:tenant" in said


def test_asking_in_ones_own_name_is_fine(world: World, promised: Team) -> None:
    asked = job(promised.namespace, "me")
    asked["metadata"]["annotations"] = {"evenshare.io/user": "system:serviceaccount:people:tenant"}
    world.kit.create(asked, world.tenant)


def test_what_an_admin_changes_behind_our_back_is_shown_with_who_did(
    world: World, promised: Team
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "evenshare-burst-h100", "namespace": promised.namespace},
        "spec": {"hard": {f"requests.{NVIDIA}": "99"}},
    }
    world.kit.apply(quota, manager="kubectl-edit")
    services.sync_cluster(cluster_id=Cluster.objects.get().pk, now=world.now)
    drift = Drift.objects.get(manager="kubectl-edit")
    assert (drift.kind, drift.namespace, drift.name, drift.manager) == (
        "ResourceQuota", promised.namespace, "evenshare-burst-h100", "kubectl-edit",
    )  # fmt: skip
    assert (drift.field, drift.found) == (f"spec.hard[requests.{NVIDIA}]", "99")
