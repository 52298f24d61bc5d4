"""A tenant with every right in its namespaces, where jobs are let start: one test a verb.

Each way round is refused, or capped, or shown for what it is.
"""

from datetime import timedelta
from typing import Any

import pytest

from portal.inventory.models import Pool
from portal.kubernetes import services as kubernetes
from portal.kubernetes.client import connect
from portal.kubernetes.models import Stop, StopState
from portal.reservations import services as reservations
from portal.reservations.models import Source
from portal.scheduling import services as scheduling
from portal.workloads.models import Admission, WorkloadState
from tests.cluster import kubelet
from tests.cluster.admitting import GATE, OPERATOR, ray_cluster
from tests.cluster.kit import Manifest, place, wait_for
from tests.cluster.labs import Lab
from tests.cluster.worlds import NVIDIA, device_pod, job, refusal

ME = "system:serviceaccount:people:tenant"


def as_tenant(lab: Lab, kind: str, name: str, change: dict[str, Any]) -> str:
    """What the cluster says to a change of vision's that it refuses."""
    return refusal(
        lab.kit.patch, kind, name, change, lab.vision.namespace, who=lab.world.tenant
    )  # fmt: skip


def create(lab: Lab, manifest: Manifest) -> str:
    """What the cluster says to a new object that it refuses."""
    return refusal(lab.kit.create, manifest, lab.world.tenant)


@pytest.fixture
def running(lab: Lab) -> str:
    """A job of vision's with two tasks that was let start and runs."""
    lab.submit(lab.vision, "train", gpus=2, tasks=2)
    lab.turn()
    lab.runs(lab.vision, "train", count=2)
    lab.turn()
    return "train"


# -- starting --------------------------------------------------------------------------------------


def test_a_job_that_is_not_suspended_is_refused(lab: Lab) -> None:
    assert "suspended (spec.suspend is true) until Evenshare" in create(
        lab, job(lab.vision.namespace, "at-once")
    )


def test_unsuspending_a_job_is_refused(lab: Lab) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    said = as_tenant(lab, "Job", "train", {"spec": {"suspend": False}})
    assert "until Evenshare lets it start" in said


def test_a_job_without_devices_is_none_of_our_business(lab: Lab) -> None:
    plain = job(lab.vision.namespace, "plain", containers=[{"name": "main", "image": "x"}])
    del plain["spec"]["template"]["spec"]["priorityClassName"]
    lab.kit.create(plain, lab.world.tenant)


def test_devices_added_to_a_job_as_it_starts_are_refused(lab: Lab) -> None:
    plain = job(lab.vision.namespace, "plain", suspend=True,
                containers=[{"name": "main", "image": "x"}])  # fmt: skip
    del plain["spec"]["template"]["spec"]["priorityClassName"]
    lab.kit.create(plain, lab.world.tenant)
    main = {"name": "main", "image": "x", "resources": {"limits": {NVIDIA: "8"}}}
    change = {"spec": {"suspend": False, "template": {"spec": {"containers": [main]}}}}
    assert "until Evenshare lets it start" in as_tenant(lab, "Job", "plain", change)


def test_a_device_pod_without_the_gate_is_refused(lab: Lab) -> None:
    said = create(lab, device_pod(lab.vision.namespace, "bare"))
    assert "waits by the scheduling gate evenshare.io/admission" in said


def test_opening_the_gate_is_refused(lab: Lab) -> None:
    lab.kit.create(
        device_pod(lab.vision.namespace, "bare", schedulingGates=[GATE]), lab.world.tenant
    )
    said = as_tenant(lab, "Pod", "bare", {"spec": {"schedulingGates": []}})
    assert "is opened by Evenshare" in said


def test_binding_a_pod_past_the_gate_and_the_scheduler_is_refused(lab: Lab) -> None:
    lab.kit.create(
        device_pod(lab.vision.namespace, "bare", schedulingGates=[GATE]), lab.world.tenant
    )
    binding = {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bare"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "h100-a"},
    }  # fmt: skip
    path = place("Pod").path(lab.vision.namespace, "bare", "binding")
    assert "non-empty .spec.schedulingGates" in refusal(
        lab.world.tenant.ask, "POST", path, (), binding
    )


def test_pods_of_other_owners_wait_by_the_gate_or_are_refused(lab: Lab) -> None:
    made = lab.submit_service(lab.vision, "serve", gpus=1, replicas=1)
    wait_for(lambda: lab.gated(lab.vision, "serve"))
    spec = {**made["spec"]["template"]["spec"], "schedulingGates": []}
    labels = {"app": "open"}
    opened = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "open", "namespace": lab.vision.namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels}, "spec": spec}},
    }  # fmt: skip
    lab.kit.create(opened, lab.world.tenant)
    failed = wait_for(
        lambda: [e for e in lab.kit.find("Event", lab.vision.namespace)
                 if e["reason"] == "FailedCreate"]
    )  # fmt: skip
    assert "waits by the scheduling gate" in failed[0]["message"]
    assert lab.pods(lab.vision, "open") == []


# -- marks -----------------------------------------------------------------------------------------


def test_a_pod_that_says_it_was_let_start_is_refused(lab: Lab) -> None:
    pod = device_pod(lab.vision.namespace, "marked")
    pod["metadata"]["annotations"] = {"evenshare.io/admitted": "evenshare-guaranteed-h100"}
    assert "evenshare-admission-pod" in create(lab, pod)


@pytest.mark.parametrize("mark", ["admitted", "runtime-class"])
def test_a_template_that_says_it_was_let_start_is_refused(lab: Lab, mark: str) -> None:
    asked = job(lab.vision.namespace, "marked", suspend=True)
    asked["spec"]["template"]["metadata"] = {"annotations": {f"evenshare.io/{mark}": "x"}}
    assert "are written by Evenshare" in create(lab, asked)


def test_charging_a_job_to_something_else_is_refused(lab: Lab, running: str) -> None:
    note = {"metadata": {"annotations": {"evenshare.io/charged-to": "reserved"}}}
    assert "are written by Evenshare" in as_tenant(lab, "Job", running, note)


def test_changing_the_class_is_refused(lab: Lab, running: str) -> None:
    other = {"spec": {"priorityClassName": "evenshare-burst-h100"}}
    pod = lab.pods(lab.vision, running)[0]["metadata"]["name"]
    assert "may not change fields" in as_tenant(lab, "Pod", pod, other)
    in_template = {"spec": {"template": other}}
    assert "field is immutable" in as_tenant(lab, "Job", running, in_template)


def test_naming_a_reservation_of_another_team_is_refused(lab: Lab) -> None:
    held = reservations.hold(
        team_id=lab.speech.row.pk, pool_id=Pool.objects.get(name="h100").pk, gpus=2,
        gpus_per_node=None, source=Source.GUARANTEE, starts_at=lab.now,
        ends_at=lab.now + timedelta(hours=1), zone="UTC", purpose="", request_id=None,
        actor_id=None, now=lab.now,
    )  # fmt: skip
    lab.turn()
    notes = {"evenshare.io/reservation": f"R-{held.pk}"}
    asked = job(lab.vision.namespace, "theirs", suspend=True)
    asked["metadata"]["annotations"] = notes
    assert f"No reservation R-{held.pk} of this team" in create(lab, asked)
    lab.submit(lab.speech, "ours", gpus=2, annotations=notes)
    told = {"metadata": {"annotations": {"evenshare.io/reservations": f"R-{held.pk}"}}}
    said = refusal(
        lab.kit.patch, "Namespace", lab.vision.namespace, told, who=lab.world.tenant
    )  # fmt: skip
    assert "evenshare.io/reservations is written by Evenshare" in said


def test_a_bare_pod_in_somebody_elses_name_is_refused(lab: Lab) -> None:
    pod = device_pod(lab.vision.namespace, "not-me", schedulingGates=[GATE])
    pod["metadata"]["annotations"] = {"evenshare.io/user": "minji"}
    assert f"names who asks: {ME}" in create(lab, pod)
    pod["metadata"]["annotations"] = {"evenshare.io/user": ME}
    lab.kit.create(pod, lab.world.tenant)


# -- growing ---------------------------------------------------------------------------------------


def test_raising_the_parallelism_of_a_running_job_is_refused(lab: Lab, running: str) -> None:
    more = {"spec": {"parallelism": 3, "completions": 3}}
    said = as_tenant(lab, "Job", running, more)
    assert "as many tasks as Evenshare let start" in said
    lab.kit.patch(
        "Job", running, {"spec": {"parallelism": 1}}, lab.vision.namespace, who=lab.world.tenant
    )


def test_more_replicas_of_a_running_service_wait_by_the_gate(lab: Lab) -> None:
    lab.submit_service(lab.vision, "serve", gpus=2, replicas=1)
    wait_for(lambda: lab.gated(lab.vision, "serve"))
    lab.until(lambda: not lab.gated(lab.vision, "serve"), "the service to be let start")
    lab.runs(lab.vision, "serve")
    lab.kit.patch(
        "Deployment", "serve", {"spec": {"replicas": 3}}, lab.vision.namespace,
        who=lab.world.tenant,
    )  # fmt: skip
    wait_for(lambda: len(lab.pods(lab.vision, "serve")) == 3)
    lab.turn()
    lab.turn()
    assert len(lab.gated(lab.vision, "serve")) == 2
    assert Admission.objects.get().tasks == 1


def test_a_suspended_job_that_was_edited_is_looked_at_again_before_it_starts(lab: Lab) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    kubernetes.collect(cluster_id=lab.cluster.pk, now=lab.now)
    scheduling.run_tick(cluster_id=lab.cluster.pk, now=lab.now)
    more = {"spec": {"parallelism": 4, "completions": 4}}
    lab.kit.patch("Job", "train", more, lab.vision.namespace, who=lab.world.tenant)
    kubernetes.carry_out(cluster_id=lab.cluster.pk, now=lab.now)
    assert lab.job(lab.vision, "train")["spec"]["suspend"] is True
    assert "edited meanwhile" in lab.asked("train")["start"]
    lab.turn()
    assert lab.job(lab.vision, "train")["spec"]["suspend"] is False
    assert Admission.objects.get().tasks == 4


# -- Ray -------------------------------------------------------------------------------------------


def template(lab: Lab) -> Manifest:
    """A Ray worker with two devices."""
    return {"spec": device_pod(lab.vision.namespace, "x", devices={NVIDIA: 2})["spec"]}


@pytest.fixture
def ray_running(lab: Lab) -> Manifest:
    """A RayCluster of vision's with two workers that was let start."""
    cluster = ray_cluster(lab.vision.namespace, "ray", template(lab))
    lab.kit.create(cluster, lab.world.tenant)
    lab.turn()
    found = lab.kit.get("RayCluster", "ray", lab.vision.namespace)
    assert found["spec"]["suspend"] is False
    return found


def test_a_ray_cluster_or_job_that_is_not_suspended_is_refused(lab: Lab) -> None:
    cluster = ray_cluster(lab.vision.namespace, "ray", template(lab), suspend=False)
    assert "until Evenshare lets it start" in create(lab, cluster)
    inner = {key: value for key, value in cluster["spec"].items() if key != "suspend"}
    ray_job = {
        "apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": cluster["metadata"],
        "spec": {"entrypoint": "python train.py", "rayClusterSpec": inner},
    }  # fmt: skip
    assert "until Evenshare lets it start" in create(lab, ray_job)


def test_unsuspending_a_ray_cluster_is_refused(lab: Lab) -> None:
    lab.kit.create(ray_cluster(lab.vision.namespace, "ray", template(lab)), lab.world.tenant)
    said = as_tenant(lab, "RayCluster", "ray", {"spec": {"suspend": False}})
    assert "until Evenshare lets it start" in said


@pytest.mark.parametrize(
    "change", [{"replicas": 3}, {"minReplicas": 3}, {"numOfHosts": 2}, {"groupName": "other"}]
)
def test_more_or_other_workers_of_a_running_ray_cluster_are_refused(
    lab: Lab, ray_running: Manifest, change: dict[str, Any]
) -> None:
    (group,) = ray_running["spec"]["workerGroupSpecs"]
    said = as_tenant(
        lab, "RayCluster", "ray", {"spec": {"workerGroupSpecs": [{**group, **change}]}}
    )
    assert "as many workers as Evenshare let start" in said


def test_another_template_or_class_of_a_running_ray_cluster_is_refused(
    lab: Lab, ray_running: Manifest
) -> None:
    (group,) = ray_running["spec"]["workerGroupSpecs"]
    spec = {**group["template"]["spec"], "priorityClassName": "evenshare-burst-h100"}
    other = {**group, "template": {**group["template"], "spec": spec}}
    said = as_tenant(lab, "RayCluster", "ray", {"spec": {"workerGroupSpecs": [other]}})
    assert "as many workers as Evenshare let start" in said


def test_fewer_workers_of_a_running_ray_cluster_are_fine(lab: Lab, ray_running: Manifest) -> None:
    (group,) = ray_running["spec"]["workerGroupSpecs"]
    fewer = {"spec": {"workerGroupSpecs": [{**group, "replicas": 1}]}}
    lab.kit.patch("RayCluster", "ray", fewer, lab.vision.namespace, who=lab.world.tenant)


def test_only_the_operator_makes_pods_of_a_ray_cluster(lab: Lab, ray_running: Manifest) -> None:
    metadata = ray_running["metadata"]
    (group,) = ray_running["spec"]["workerGroupSpecs"]
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "ray",
             "uid": metadata["uid"], "controller": True}  # fmt: skip
    pod = {
        "apiVersion": "v1", "kind": "Pod", **group["template"],
        "metadata": {"name": "worker-0", "namespace": lab.vision.namespace,
                     "ownerReferences": [owner], **group["template"]["metadata"]},
    }  # fmt: skip
    assert "evenshare-admission-pod" in create(lab, pod)
    operator = connect({"kubeconfig": str(lab.kit.sign_in(*OPERATOR))})
    made = lab.kit.create(pod, operator)
    assert made["spec"]["priorityClassName"] == "evenshare-guaranteed-h100"


# -- staying ---------------------------------------------------------------------------------------


def test_a_grace_of_a_year_is_refused_and_the_job_waits_anew(lab: Lab) -> None:
    lab.submit(lab.vision, "slow", gpus=2, terminationGracePeriodSeconds=31_536_000)
    lab.turn()
    wait_for(lambda: [e for e in lab.kit.find("Event", lab.vision.namespace)
                      if "is gone within 600 seconds" in e["message"]])  # fmt: skip
    lab.turn()
    assert lab.row("slow").cluster_reason == "cluster_policy"
    lab.ahead = timedelta(minutes=11)
    lab.turn()
    assert Admission.objects.get().why == "not_started"
    assert lab.job(lab.vision, "slow")["spec"]["suspend"] is True


def borrow(lab: Lab) -> str:
    """Speech runs a job within its guarantee and a service beyond it; the service's pod."""
    lab.submit(lab.speech, "promised", gpus=8)
    lab.turn()
    lab.runs(lab.speech, "promised")
    lab.submit_service(lab.speech, "serve", gpus=8, replicas=1)
    wait_for(lambda: lab.gated(lab.speech, "serve"))
    lab.until(lambda: not lab.gated(lab.speech, "serve"), "the service to be let start")
    (pod,) = lab.runs(lab.speech, "serve")
    lab.turn()
    return str(pod["metadata"]["name"])


def test_a_disruption_budget_of_all_pods_is_honoured_only_for_the_pools_grace(lab: Lab) -> None:
    pod = borrow(lab)
    budget = {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": lab.speech.namespace},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "serve"}}},
    }  # fmt: skip
    lab.kit.create(budget, lab.world.tenant)
    wait_for(lambda: "disruptionsAllowed" in lab.kit.get(
        "PodDisruptionBudget", "all", lab.speech.namespace).get("status", {}))  # fmt: skip
    lab.submit(lab.vision, "owner", gpus=8)
    lab.until(lambda: Stop.objects.filter(state=StopState.BLOCKED), "the budget to be met")
    assert "disruption budget" in Stop.objects.get().message
    lab.ahead = timedelta(minutes=11)
    lab.turn()
    metadata = lab.kit.get("Pod", pod, lab.speech.namespace)["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert lab.asked("serve")["delete"] == ""


def test_a_finalizer_keeps_a_pod_and_is_shown_and_its_devices_stay_taken(lab: Lab) -> None:
    pod = borrow(lab)
    note = {"metadata": {"finalizers": ["tenant.example/never"]}}
    lab.kit.patch("Pod", pod, note, lab.speech.namespace, who=lab.world.tenant)
    lab.submit(lab.vision, "owner", gpus=8)
    lab.until(lambda: Stop.objects.first(), "somebody to make room")
    lab.kit.delete("Pod", pod, lab.speech.namespace)
    lab.turn()
    lab.ahead = timedelta(minutes=2)
    lab.turn()
    lab.ahead = timedelta(minutes=4)
    lab.turn()
    stop = Stop.objects.get()
    assert stop.state == StopState.STUCK
    assert "tenant.example/never" in stop.message
    assert lab.row("serve").state == WorkloadState.STOPPING
    assert lab.job(lab.vision, "owner")["spec"]["suspend"] is True


def test_deleting_a_job_under_our_hands_is_fine(lab: Lab, running: str) -> None:
    lab.kit.delete("Job", running, lab.vision.namespace)
    for pod in lab.pods(lab.vision, running):
        kubelet.finish(lab.kit, lab.vision.namespace, pod["metadata"]["name"])
        lab.kit.delete("Pod", pod["metadata"]["name"], lab.vision.namespace)
    lab.until(lambda: Admission.objects.filter(ended_at__isnull=False), "the place to be free")
    assert lab.row(running).state in (WorkloadState.CANCELLED, WorkloadState.SUCCEEDED)
