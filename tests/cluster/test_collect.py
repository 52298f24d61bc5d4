"""What a real cluster shows, read as our account: demand, pods, refusals, what came and went."""

from collections.abc import Iterator
from typing import Any

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster, Node, NodeState
from portal.kubernetes import services
from portal.usage.models import LedgerEntry
from portal.workloads.models import Workload, WorkloadState
from tests.cluster import kubelet
from tests.cluster.kit import wait_for
from tests.cluster.worlds import H100, NVIDIA, Team, World, device_pod, job


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """A pool of eight, two of them Vision's."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 2, 0))
    services.sync_cluster(cluster_id=cluster.pk, now=world.now)
    for name in ("evenshare-guaranteed-h100", "evenshare-total"):
        world.settled(vision.namespace, name)
    return cluster


def collect(world: World, cluster: Cluster) -> services.Collected:
    """One look."""
    found = services.collect(cluster_id=cluster.pk, now=world.now)
    assert found.error == ""
    return found


def only() -> Workload:
    """The one workload there is."""
    return Workload.objects.get()


def test_a_job_is_followed_from_waiting_to_its_end(
    world: World, vision: Team, cluster: Cluster
) -> None:
    asked = job(vision.namespace, "train", suspend=True)
    asked["metadata"]["annotations"] = {"evenshare.io/duration": "3600"}
    world.kit.create(asked, world.tenant)
    collect(world, cluster)
    assert (only().state, only().cluster_reason) == (WorkloadState.WAITING, "cluster_suspended")
    assert (only().team, only().duration_seconds) == (vision.row, 3600)
    world.kit.patch("Job", "train", {"spec": {"suspend": False}}, vision.namespace)
    pod = wait_for(lambda: world.kit.find("Pod", vision.namespace))[0]["metadata"]["name"]
    kubelet.run(world.kit, vision.namespace, pod)
    collect(world, cluster)
    assert (only().state, only().cluster_reason) == (WorkloadState.RUNNING, "")
    held = only().pods.get()
    assert (held.node and held.node.name, held.gpu_milli) == ("h100-a", 1000)
    assert held.priority_class == "evenshare-guaranteed-h100"
    kubelet.finish(world.kit, vision.namespace, pod)
    wait_for(lambda: world.kit.get("Job", "train", vision.namespace)["status"].get("succeeded"))
    wait_for(lambda: "completionTime" in world.kit.get("Job", "train", vision.namespace)["status"])
    collect(world, cluster)
    assert only().state == WorkloadState.SUCCEEDED


def test_demand_counts_pods_the_quota_refused(world: World, vision: Team, cluster: Cluster) -> None:
    world.kit.create(job(vision.namespace, "wide", tasks=5), world.tenant)
    wait_for(lambda: len(world.kit.find("Pod", vision.namespace)) == 2)
    wait_for(lambda: [e for e in world.kit.find("Event", vision.namespace)
                      if e["reason"] == "FailedCreate"])  # fmt: skip
    collect(world, cluster)
    assert (only().tasks, only().gpu_milli, only().pods.count()) == (5, 1000, 2)
    assert only().cluster_reason == "cluster_quota"
    # Two quotas are full; which of them the server names first is its own affair.
    assert "exceeded quota: evenshare-" in only().cluster_message


def test_a_policys_refusal_is_told_from_a_quotas(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.kit.create(job(vision.namespace, "lost", nodeSelector={}), world.tenant)
    wait_for(lambda: [e for e in world.kit.find("Event", vision.namespace)
                      if e["reason"] == "FailedCreate"])  # fmt: skip
    collect(world, cluster)
    assert only().cluster_reason == "cluster_policy"
    assert "names its pool by the node selector" in only().cluster_message


def deployment(namespace: str, replicas: int, kind: str = "Deployment") -> dict[str, Any]:
    """Equal device pods that are kept running."""
    labels = {"app": "serve"}
    spec = {**device_pod(namespace, "x")["spec"], "restartPolicy": "Always"}
    body: dict[str, Any] = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    if kind == "StatefulSet":
        body["serviceName"] = "serve"
        body["podManagementPolicy"] = "Parallel"
    metadata = {"name": "serve", "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": body}


def test_a_deployment_is_one_workload_whatever_stands_between_it_and_its_pods(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.kit.create(deployment(vision.namespace, 3), world.tenant)
    wait_for(lambda: len(world.kit.find("Pod", vision.namespace)) == 2)
    wait_for(lambda: [e for e in world.kit.find("Event", vision.namespace)
                      if e["reason"] == "FailedCreate"])  # fmt: skip
    collect(world, cluster)
    assert (only().name, only().owner_kind, only().tasks) == ("serve", "Deployment", 3)
    assert only().pods.count() == 2
    assert only().cluster_reason == "cluster_quota"


def test_a_stateful_set_is_read_the_same_way(world: World, vision: Team, cluster: Cluster) -> None:
    world.kit.create(deployment(vision.namespace, 2, "StatefulSet"), world.tenant)
    wait_for(lambda: len(world.kit.find("Pod", vision.namespace)) == 2)
    collect(world, cluster)
    assert (only().owner_kind, only().tasks, only().pods.count()) == ("StatefulSet", 2, 2)


def test_a_pod_that_came_and_went_between_two_looks_is_in_the_ledger(
    world: World, vision: Team, cluster: Cluster
) -> None:
    collect(world, cluster)
    world.kit.create(device_pod(vision.namespace, "brief"), world.tenant)
    kubelet.run(world.kit, vision.namespace, "brief")
    uid = world.kit.get("Pod", "brief", vision.namespace)["metadata"]["uid"]
    kubelet.finish(world.kit, vision.namespace, "brief")
    world.kit.delete("Pod", "brief", vision.namespace)
    collect(world, cluster)
    pod = only().pods.get()
    assert (pod.uid, pod.closed_at is not None, pod.estimated) == (uid, True, False)


def test_device_pods_of_no_team_are_seen_and_are_nobodys(
    world: World, vision: Team, cluster: Cluster
) -> None:
    # From before the policies: a namespace that lost its team while its pod ran on.
    world.kit.create(device_pod(vision.namespace, "old"), world.tenant)
    kubelet.run(world.kit, vision.namespace, "old")
    inventory.register_namespace(
        cluster_id=cluster.pk, name=vision.namespace, team_id=None, now=world.now
    )
    collect(world, cluster)
    assert (only().team, only().namespace, only().state) == (
        None, vision.namespace, WorkloadState.RUNNING,
    )  # fmt: skip
    assert not LedgerEntry.objects.exclude(team=None).exists()


def test_a_node_that_breaks_and_one_that_is_cordoned_keep_their_place(
    world: World, cluster: Cluster
) -> None:
    kubelet.add_node(world.kit, "h100-b", {NVIDIA: 8}, H100)
    collect(world, cluster)
    kubelet.offer(world.kit, "h100-a", {NVIDIA: 8}, ready=False)
    world.kit.patch("Node", "h100-b", {"spec": {"unschedulable": True}})
    collect(world, cluster)
    states = dict(Node.objects.filter(removed_at=None).values_list("name", "state"))
    assert states == {"h100-a": NodeState.DOWN, "h100-b": NodeState.CORDONED}
    kubelet.offer(world.kit, "h100-a", {NVIDIA: 8})
    world.kit.delete("Node", "h100-b")
    collect(world, cluster)
    states = dict(Node.objects.filter(removed_at=None).values_list("name", "state"))
    assert states == {"h100-a": NodeState.READY}


CUSTOM = {
    "JobSet": ("jobset.x-k8s.io", "v1alpha2", "jobsets"),
    "RayCluster": ("ray.io", "v1", "rayclusters"),
    "RayJob": ("ray.io", "v1", "rayjobs"),
    "TrainJob": ("trainer.kubeflow.org", "v1alpha1", "trainjobs"),
}


@pytest.fixture
def custom_kinds(world: World) -> Iterator[None]:
    """The kinds of JobSet, KubeRay and Trainer, without their operators and schemas."""
    names = []
    for kind, (group, version, plural) in CUSTOM.items():
        open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served = {"name": version, "served": True, "storage": True}
        served["schema"] = {"openAPIV3Schema": open_schema}
        names.append(f"{plural}.{group}")
        world.kit.apply(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": names[-1]},
                "spec": {
                    "group": group, "scope": "Namespaced", "versions": [served],
                    "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                },
            }
        )  # fmt: skip
    for name in names:
        wait_for(lambda name=name: _is_served(world, name), name)  # type: ignore[misc]
    yield
    for name in names:
        world.kit.delete("CustomResourceDefinition", name)


def _is_served(world: World, name: str) -> bool:
    found = world.kit.get("CustomResourceDefinition", name).get("status", {})
    conditions = found.get("conditions", [])
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@pytest.mark.usefixtures("custom_kinds")
def test_owners_of_kinds_somebody_installed_are_read_too(
    world: World, vision: Team, cluster: Cluster
) -> None:
    template = {"spec": device_pod(vision.namespace, "x", devices={NVIDIA: 2})["spec"]}
    head = {"spec": device_pod(vision.namespace, "x", devices={})["spec"]}
    workers = {"groupName": "w", "replicas": 3, "minReplicas": 1, "maxReplicas": 4}
    ray = {
        "headGroupSpec": {"template": head},
        "workerGroupSpecs": [{**workers, "template": template}],
    }
    part = {"name": "p", "replicas": 2}
    part["template"] = {"spec": {"parallelism": 2, "completions": 2, "template": template}}
    node = {"numNodes": 4, "resourcesPerNode": {"limits": {NVIDIA: "8"}}}
    for kind, spec in {
        "RayCluster": ray,
        "RayJob": {"rayClusterSpec": ray, "suspend": True},
        "JobSet": {"replicatedJobs": [part]},
        "TrainJob": {"trainer": node},
    }.items():
        group, version, _plural = CUSTOM[kind]
        metadata = {"name": kind.lower(), "namespace": vision.namespace}
        manifest = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": metadata}
        world.kit.create({**manifest, "spec": spec}, world.tenant)
    collect(world, cluster)
    rows = Workload.objects.values_list("owner_kind", "tasks", "gpu_milli", "cluster_reason")
    assert set(rows) == {
        ("RayCluster", 3, 2000, ""),
        ("RayJob", 3, 2000, "cluster_suspended"),
        ("JobSet", 4, 2000, ""),
        ("TrainJob", 4, 8000, ""),
    }
