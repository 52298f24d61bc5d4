"""Our own account in the modes that stop and start jobs: what it needs works, nothing more does."""

from typing import Any

import pytest

from portal.kubernetes import policies
from portal.kubernetes.client import connect
from portal.kubernetes.places import PLACES
from tests.cluster.admitting import GATE, ray_cluster
from tests.cluster.kit import Manifest, place
from tests.cluster.labs import Lab
from tests.cluster.worlds import NVIDIA, device_pod, refusal


def ours(lab: Lab, kind: str, name: str, change: Manifest) -> str:
    """What the cluster says to a change our account may not make."""
    return refusal(
        lab.world.port().patch, kind, lab.vision.namespace, name, change, manager="evenshare"
    )


def test_all_policies_stand_and_the_server_finds_no_fault_in_their_types(lab: Lab) -> None:
    port = lab.world.port()
    assert policies.missing(port.policies(), "admission") == []
    for item in port.policies().items:
        if item["kind"] == policies.POLICY:
            warnings = item.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
            assert not warnings, (item["metadata"]["name"], warnings)


def test_a_cluster_without_them_says_which_are_missing(lab: Lab) -> None:
    found = [p for p in lab.world.port().policies().items
             if p["metadata"]["name"] != "evenshare-admission-jobs"]  # fmt: skip
    listing = type(lab.world.port().policies())(tuple(found), "")
    assert policies.missing(listing, "admission") == ["evenshare-admission-jobs"]
    assert policies.missing(listing, "quota") == []


@pytest.mark.parametrize("kind", ["Job", "Deployment", "RayCluster", "RayJob"])
def test_the_account_makes_and_deletes_no_owners(lab: Lab, kind: str) -> None:
    way = connect({"kubeconfig": str(lab.world.account)})
    path = PLACES[kind].path(lab.vision.namespace)
    body = {"apiVersion": PLACES[kind].version, "kind": kind, "metadata": {"name": "mine"}}
    assert "cannot create resource" in refusal(way.ask, "POST", path, (), body)
    said = refusal(lab.world.port().delete, kind, lab.vision.namespace, "mine")
    assert "cannot delete resource" in said


@pytest.mark.parametrize("part", ["exec", "portforward", "binding", "ephemeralcontainers"])
def test_the_account_reaches_into_no_pod(lab: Lab, part: str) -> None:
    way = connect({"kubeconfig": str(lab.world.account)})
    path = place("Pod").path(lab.vision.namespace, "any", part)
    verb = "PATCH" if part == "ephemeralcontainers" else "POST"
    said = refusal(way.ask, verb, path, (), {}, "application/merge-patch+json")
    assert "cannot" in said


IMAGE = {"name": "main", "image": "ours", "resources": {"limits": {NVIDIA: "2"}}}
LESS = {"name": "main", "image": "work", "resources": {"limits": {NVIDIA: "1"}}}


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"ours": "yes"}}},
        {"metadata": {"annotations": {"owner": "us"}}},
        {"metadata": {"finalizers": ["evenshare.io/stay"]}},
        {"spec": {"template": {"spec": {"containers": [LESS]}}}},
        {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}},
        {"spec": {"backoffLimit": 0}},
        {"spec": {"activeDeadlineSeconds": 1}},
        {"spec": {"ttlSecondsAfterFinished": 0}},
    ],
)
def test_the_account_changes_whether_a_job_runs_and_nothing_of_what(
    lab: Lab, change: dict[str, Any]
) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    assert "The portal's account changes" in ours(lab, "Job", "train", change)


def test_the_account_opens_a_pods_gate_and_changes_nothing_else_of_it(lab: Lab) -> None:
    pod = device_pod(lab.vision.namespace, "bare", schedulingGates=[GATE], devices={NVIDIA: 2})
    lab.kit.create(pod, lab.world.tenant)
    for change in (
        {"spec": {"containers": [IMAGE]}},
        {"spec": {"activeDeadlineSeconds": 1}},
        {"metadata": {"labels": {"ours": "yes"}}},
        {"metadata": {"finalizers": ["evenshare.io/stay"]}},
    ):
        said = ours(lab, "Pod", "bare", change)
        assert "The portal's account opens a pod's gate and places it, nothing else" in said


def test_the_account_deletes_no_pod_that_is_of_no_pool(lab: Lab) -> None:
    plain = device_pod(lab.vision.namespace, "plain", containers=[{"name": "c", "image": "x"}])
    del plain["spec"]["priorityClassName"], plain["spec"]["nodeSelector"]
    lab.kit.create(plain, lab.world.tenant)
    said = refusal(lab.world.port().delete, "Pod", lab.vision.namespace, "plain")
    assert "deletes only pods of a pool" in said


@pytest.mark.parametrize("change", [{"replicas": 5}, {"numOfHosts": 2}, {"groupName": "more"}])
def test_the_account_gives_ray_no_other_workers(lab: Lab, change: dict[str, Any]) -> None:
    template = {"spec": device_pod(lab.vision.namespace, "x")["spec"]}
    made = lab.kit.create(ray_cluster(lab.vision.namespace, "ray", template), lab.world.tenant)
    (group,) = made["spec"]["workerGroupSpecs"]
    said = ours(lab, "RayCluster", "ray", {"spec": {"workerGroupSpecs": [{**group, **change}]}})
    assert "changes whether and where Ray runs, not what it runs" in said


def test_the_account_evicts_as_budgets_let_it(lab: Lab) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    lab.turn()
    (pod,) = lab.runs(lab.vision, "train")
    lab.world.port().evict(
        lab.vision.namespace, pod["metadata"]["name"], uid=pod["metadata"]["uid"]
    )
    metadata = lab.kit.get("Pod", pod["metadata"]["name"], lab.vision.namespace)["metadata"]
    assert "deletionTimestamp" in metadata
