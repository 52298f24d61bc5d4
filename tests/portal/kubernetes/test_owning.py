"""Demand read from owners of every kind, whatever became of their pods."""

from typing import Any

import pytest

from portal.kubernetes import reading
from portal.kubernetes.port import Listing, Manifest
from portal.workloads.models import Kind, WorkloadState
from portal.workloads.seen import SeenWorkload

GPU = "nvidia.com/gpu"
BORN = "2026-11-02T00:00:00Z"


def template(devices: int, pool: str = "h100") -> dict[str, Any]:
    """A pod template."""
    limits = {GPU: str(devices)} if devices else {}
    containers = [{"name": "main", "resources": {"limits": limits}}]
    return {"spec": {"nodeSelector": {"evenshare.io/pool": pool}, "containers": containers}}


def thing(
    kind: str, name: str, spec: dict[str, Any], above: Manifest | None = None, **metadata: Any
) -> dict[str, Any]:
    """An object with a uid made of its kind and name."""
    given: dict[str, Any] = {
        "name": name, "namespace": "vision", "uid": f"{kind}-{name}", "resourceVersion": "1",
        "creationTimestamp": BORN, **metadata,
    }  # fmt: skip
    if above is not None:
        given["ownerReferences"] = [{"uid": above["metadata"]["uid"], "controller": True}]
    return {"kind": kind, "metadata": given, "spec": spec}


def pod(name: str, devices: int, above: Manifest | None = None, **metadata: Any) -> dict[str, Any]:
    """A pod that waits for a node."""
    return {**thing("Pod", name, template(devices)["spec"], above, **metadata), "status": {}}


def see(
    *owners: Manifest,
    pods: tuple[Manifest, ...] = (),
    events: tuple[Manifest, ...] = (),
    deleted: tuple[Manifest, ...] = (),
) -> list[SeenWorkload]:
    """What is read of them."""
    found = reading.Read(
        nodes=Listing((), "1"), owners=Listing(owners, "1", deleted), pods=Listing(pods, "1"),
        events=Listing(events, "1"), version="1",
    )  # fmt: skip
    return reading.workloads(found, {GPU})


def refusal(owner: Manifest, message: str = "exceeded quota: evenshare-total") -> dict[str, Any]:
    """The warning of an owner whose pod was refused."""
    return {
        "involvedObject": {"uid": owner["metadata"]["uid"]}, "message": message,
        "lastTimestamp": BORN,
    }  # fmt: skip


RAY = {
    "headGroupSpec": {"template": template(0)},
    "workerGroupSpecs": [
        {
            "replicas": 3,
            "minReplicas": 1,
            "maxReplicas": 2,
            "numOfHosts": 2,
            "template": template(4),
        },
        {"replicas": 5, "suspend": True, "template": template(8)},
    ],
}


@pytest.mark.parametrize(
    ("kind", "spec", "tasks", "devices"),
    [
        ("Job", {"parallelism": 4, "completions": 100, "template": template(2)}, 4, 2),
        ("Job", {"parallelism": 8, "completions": 3, "template": template(2)}, 3, 2),
        ("Job", {"template": template(1)}, 1, 1),
        ("ReplicaSet", {"replicas": 3, "template": template(1)}, 3, 1),
        ("Deployment", {"template": template(1)}, 1, 1),
        ("StatefulSet", {"replicas": 2, "template": template(8)}, 2, 8),
        (
            "JobSet",
            {"replicatedJobs": [
                {"replicas": 2, "template": {"spec": {"parallelism": 4, "template": template(8)}}},
                {"template": {"spec": {"template": template(0)}}},
            ]},
            8, 8,
        ),
        ("RayCluster", RAY, 4, 4),
        ("RayJob", {"rayClusterSpec": RAY}, 4, 4),
        (
            "TrainJob",
            {"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {GPU: "8"}}}},
            2, 8,
        ),
    ],
)  # fmt: skip
def test_desired_replicas_times_devices_is_demand_though_no_pod_is_there(
    kind: str, spec: dict[str, Any], tasks: int, devices: int
) -> None:
    [seen] = see(thing(kind, "work", spec))
    assert (seen.owner_kind, seen.tasks, seen.gpu_milli) == (kind, tasks, 1000 * devices)
    assert seen.ended is None


def test_groups_of_unequal_pods_are_counted_in_their_greatest_common_unit() -> None:
    spec = {
        "headGroupSpec": {"template": template(2)},
        "workerGroupSpecs": [{"replicas": 3, "template": template(8)}],
    }
    [seen] = see(thing("RayCluster", "ray", spec))
    assert (seen.tasks, seen.gpu_milli) == (13, 2000)


def test_a_ray_job_speaks_for_its_cluster_and_its_submitter() -> None:
    job = thing("RayJob", "train", {"rayClusterSpec": RAY})
    cluster = thing("RayCluster", "train-x", RAY, job)
    submitter = thing("Job", "train", {"template": template(0)}, job)
    worker = pod("worker", 4, cluster)
    [seen] = see(job, cluster, submitter, pods=(worker,))
    assert (seen.uid, seen.tasks) == ("RayJob-train", 4)
    assert [one.uid for one in seen.pods] == ["Pod-worker"]


def test_a_ray_job_on_a_cluster_that_is_there_wants_none_of_its_own() -> None:
    selector = {"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": RAY}
    assert see(thing("RayJob", "train", selector)) == []


def test_a_deployment_speaks_for_all_its_replica_sets() -> None:
    deployment = thing("Deployment", "serve", {"replicas": 2, "template": template(1)})
    old = thing("ReplicaSet", "serve-1", {"replicas": 0, "template": template(1)}, deployment)
    new = thing("ReplicaSet", "serve-2", {"replicas": 2, "template": template(1)}, deployment)
    pods = (pod("a", 1, old), pod("b", 1, new))
    [seen] = see(old, new, deployment, pods=pods, events=(refusal(new),))
    assert (seen.tasks, len(seen.pods)) == (2, 2)
    assert seen.cluster_reason == "cluster_scheduler"  # and not the refusal
    [seen] = see(old, new, deployment, pods=pods[1:], events=(refusal(new),))
    assert seen.cluster_reason == "cluster_quota"


def test_a_trainer_that_says_nothing_is_read_from_its_job_set() -> None:
    train = thing("TrainJob", "tune", {"runtimeRef": {"name": "torch"}})
    part = {"replicas": 1, "template": {"spec": {"parallelism": 4, "template": template(8)}}}
    jobset = thing("JobSet", "tune", {"replicatedJobs": [part]}, train)
    [seen] = see(train, jobset)
    assert (seen.uid, seen.tasks, seen.gpu_milli) == ("TrainJob-tune", 4, 8000)


def test_what_is_scaled_to_nothing_asks_for_nothing_until_its_pods_are_gone() -> None:
    serve = thing("Deployment", "serve", {"replicas": 0, "template": template(1)})
    assert see(serve) == []
    [seen] = see(serve, pods=(pod("last", 1, serve),))
    assert len(seen.pods) == 1


def test_a_pod_that_claims_an_owner_of_another_namespace_stands_for_itself() -> None:
    victim = thing("Job", "theirs", {"template": template(1)}, namespace="speech")
    liar = pod("mine", 8, victim)
    found = {seen.uid: seen for seen in see(victim, pods=(liar,))}
    assert found["Job-theirs"].pods == ()
    assert (found["Pod-mine"].namespace, found["Pod-mine"].gpu_milli) == ("vision", 8000)


def test_owners_that_claim_each_other_do_no_harm() -> None:
    one = thing("Job", "one", {"template": template(1)})
    two = thing("Job", "two", {"template": template(1)}, one)
    one["metadata"]["ownerReferences"] = [{"uid": "Job-two", "controller": True}]
    held = pod("held", 1, one)
    assert [len(seen.pods) for seen in see(one, two, pods=(held,))] == [1]


def test_devices_of_steps_and_sidecars_count_as_kubernetes_counts_them() -> None:
    spec = template(2)["spec"]
    step = {"name": "step", "resources": {"limits": {GPU: "5"}}}
    sidecar = {"name": "side", "restartPolicy": "Always", "resources": {"limits": {GPU: "1"}}}
    for steps, devices in (([step], 5), ([sidecar], 3), ([sidecar, step], 6), ([step, sidecar], 5)):
        owner = thing("Job", "work", {"template": {"spec": {**spec, "initContainers": steps}}})
        [seen] = see(owner)
        assert seen.gpu_milli == 1000 * devices


def test_a_deleted_owner_that_does_not_say_when_ends_where_it_was_last_seen() -> None:
    job = thing("Job", "gone", {"template": template(1)})
    assert see(deleted=(job,)) == []
    [seen] = see(deleted=(job,), pods=(pod("still", 1, job),))
    assert (seen.orphan, seen.ended) == (True, None)
    dated = thing("Job", "gone", {"template": template(1)}, deletionTimestamp=BORN)
    [seen] = see(deleted=(dated,))
    assert seen.ended == WorkloadState.CANCELLED


@pytest.mark.parametrize(
    "said",
    [
        {"saved-at": "yesterday"}, {"duration": "a day"}, {"duration": "9" * 30},
        {"class": "gaming"}, {"min-tasks": "99"}, {"reservation": "R-x"}, {"priority": "1e9"},
    ],
)  # fmt: skip
def test_annotations_that_make_no_sense_count_as_not_said(said: dict[str, str]) -> None:
    notes = {f"evenshare.io/{name}": value for name, value in said.items()}
    [seen] = see(thing("Job", "work", {"template": template(1)}, annotations=notes))
    [plain] = see(thing("Job", "work", {"template": template(1)}))
    assert seen == plain
    assert seen.kind == Kind.BATCH


def test_a_bare_pod_says_of_itself_what_a_job_says() -> None:
    notes = {"evenshare.io/class": "interactive", "evenshare.io/duration": "600",
             "evenshare.io/reservation": "R-7", "evenshare.io/preemptible": "false"}  # fmt: skip
    gated = pod("bare", 1, annotations=notes)
    gated["spec"] = {**gated["spec"], "schedulingGates": [{"name": "evenshare.io/admission"}]}
    [seen] = see(pods=(gated,))
    assert (seen.kind, seen.duration_seconds, seen.reservation_id, seen.preemptible) == (
        Kind.INTERACTIVE, 600, 7, False,
    )  # fmt: skip
    assert (seen.owner_kind, seen.cluster_reason) == ("Pod", "cluster_gated")


@pytest.mark.parametrize(
    ("kind", "spec", "least"),
    [
        ("Job", {"parallelism": 4, "completions": 4, "template": template(1)}, 2),
        ("Deployment", {"replicas": 4, "template": template(1)}, 2),
        ("RayCluster", RAY, None),
        ("RayJob", {"rayClusterSpec": RAY}, None),
    ],
)
def test_only_kinds_that_may_run_with_less_say_with_how_much(
    kind: str, spec: dict[str, Any], least: int | None
) -> None:
    [seen] = see(thing(kind, "work", spec, annotations={"evenshare.io/min-tasks": "2"}))
    assert seen.min_tasks == least
