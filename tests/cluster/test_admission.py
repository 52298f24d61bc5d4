"""Jobs let start and stopped on a real server, with its own scheduler and job controller."""

from portal.inventory.models import Pool
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Ask, Stop, StopState
from portal.scheduling import services as scheduling
from portal.workloads.models import Admission, Workload, WorkloadState
from tests.cluster.admitting import ray_cluster
from tests.cluster.kit import wait_for
from tests.cluster.labs import Lab
from tests.cluster.worlds import NVIDIA, device_pod


def test_a_job_is_let_start_where_the_tick_placed_it_and_gives_way_to_a_guarantee(lab: Lab) -> None:
    lab.submit(lab.speech, "promised", gpus=8)
    lab.submit(lab.speech, "borrows", gpus=8)
    lab.turn()
    for name, klass in (("promised", "guaranteed"), ("borrows", "burst")):
        asked = lab.job(lab.speech, name)
        assert asked["spec"]["suspend"] is False
        (pod,) = lab.runs(lab.speech, name)
        ((node, _tasks),) = Admission.objects.get(workload=lab.row(name)).placements
        # The class was told by the template's mark: a Job's template takes none while it waits.
        assert pod["spec"]["priorityClassName"] == f"evenshare-{klass}-h100"
        assert pod["spec"]["nodeName"] == node
    lab.turn()
    assert {row.state for row in Workload.objects.all()} == {WorkloadState.RUNNING}

    lab.submit(lab.vision, "owner", gpus=8)
    stop = lab.until(lambda: Stop.objects.first(), "somebody to make room")
    victim = stop.workload.name
    assert stop.made_for == lab.row("owner")
    assert lab.job(lab.speech, victim)["spec"]["suspend"] is True
    (pod,) = wait_for(
        lambda: [p for p in lab.pods(lab.speech, victim) if "deletionTimestamp" in p["metadata"]]
    )

    # While the pod is there its devices are kept, and given to nobody.
    lab.turn()
    lab.turn()
    assert lab.row(victim).state == WorkloadState.STOPPING
    assert lab.job(lab.vision, "owner")["spec"]["suspend"] is True
    lab.gone(lab.speech, pod)
    lab.until(lambda: not lab.job(lab.vision, "owner")["spec"]["suspend"], "the owner to start")
    lab.runs(lab.vision, "owner")
    lab.turn()
    assert Stop.objects.get().state == StopState.GONE
    assert (lab.row(victim).state, lab.row(victim).preemptions) == (WorkloadState.WAITING, 1)
    assert lab.row("owner").state == WorkloadState.RUNNING
    assert lab.row("owner").charged_to == "guaranteed"


def test_isolated_jobs_carry_the_runtime_class_and_services_must_name_it(lab: Lab) -> None:
    for name in ("kata", "gvisor"):
        lab.kit.apply(
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name},
             "handler": name}
        )  # fmt: skip
    Pool.objects.update(runtime_class="kata")
    lab.submit(lab.vision, "train", gpus=2)
    lab.submit_service(lab.vision, "open", gpus=2, replicas=1)
    wait_for(lambda: lab.gated(lab.vision, "open"))
    lab.turn()
    (pod,) = lab.runs(lab.vision, "train")
    assert pod["spec"]["runtimeClassName"] == "kata"
    assert "must name runtimeClassName kata" in lab.asked("open")["start"]
    assert len(lab.gated(lab.vision, "open")) == 1

    lab.speech.row.runtime_class = "gvisor"
    lab.speech.row.save()
    lab.submit(lab.speech, "speaks", gpus=2)
    lab.turn()
    (pod,) = lab.runs(lab.speech, "speaks")
    assert pod["spec"]["runtimeClassName"] == "gvisor"


def test_a_service_that_makes_room_waits_by_the_gate_again(lab: Lab) -> None:
    lab.submit(lab.speech, "promised", gpus=8)
    lab.turn()
    lab.runs(lab.speech, "promised")
    lab.submit_service(lab.speech, "serve", gpus=4, replicas=2)
    wait_for(lambda: len(lab.gated(lab.speech, "serve")) == 2)
    lab.until(lambda: not lab.gated(lab.speech, "serve"), "the service to be let start")
    lab.runs(lab.speech, "serve", count=2)
    lab.turn()
    notes = {pod["metadata"]["annotations"]["evenshare.io/charged-to"]
             for pod in lab.pods(lab.speech, "serve")}  # fmt: skip
    assert notes == {"borrowed"}

    lab.submit(lab.vision, "owner", gpus=8)
    lab.until(lambda: Stop.objects.first(), "somebody to make room")
    assert Stop.objects.get().workload == lab.row("serve")
    going = [p for p in lab.pods(lab.speech, "serve") if "deletionTimestamp" in p["metadata"]]
    assert len(going) == 2
    for pod in going:
        lab.gone(lab.speech, pod)
    lab.until(lambda: not lab.job(lab.vision, "owner")["spec"]["suspend"], "the owner to start")
    lab.turn()
    assert len(lab.gated(lab.speech, "serve")) == 2
    assert Stop.objects.get().state == StopState.GONE
    assert (lab.row("serve").state, lab.row("serve").preemptions) == (WorkloadState.WAITING, 1)


def test_a_lost_pod_of_a_service_is_replaced_without_waiting_again(lab: Lab) -> None:
    lab.submit_service(lab.vision, "serve", gpus=2, replicas=2)
    wait_for(lambda: len(lab.gated(lab.vision, "serve")) == 2)
    lab.until(lambda: not lab.gated(lab.vision, "serve"), "the service to be let start")
    pod, _other = lab.runs(lab.vision, "serve", count=2)
    lab.turn()
    lab.kit.delete("Pod", pod["metadata"]["name"], lab.vision.namespace)
    wait_for(lambda: len(lab.gated(lab.vision, "serve")) == 1)
    lab.until(lambda: not lab.gated(lab.vision, "serve"), "the new pod to be let start")
    assert Admission.objects.count() == 1


def test_a_job_that_may_run_with_less_starts_with_less_and_gets_all_back_when_it_stops(
    lab: Lab,
) -> None:
    lab.submit(lab.speech, "promised", gpus=6, tasks=2)
    lab.submit(lab.vision, "elastic", gpus=2, tasks=4, annotations={"evenshare.io/min-tasks": "1"})
    lab.turn()
    asked = lab.job(lab.vision, "elastic")
    assert asked["spec"]["suspend"] is False
    assert (asked["spec"]["parallelism"], Admission.objects.get(
        workload=lab.row("elastic")).tasks) == (2, 2)  # fmt: skip
    assert asked["metadata"]["annotations"]["evenshare.io/parallelism"] == "4"


def test_ray_is_let_start_with_everything_it_needs_and_stopped_whole(lab: Lab) -> None:
    template = {"spec": device_pod(lab.speech.namespace, "x", devices={NVIDIA: 4})["spec"]}
    del template["spec"]["priorityClassName"], template["spec"]["nodeSelector"]
    lab.submit(lab.speech, "promised", gpus=8)
    lab.turn()
    lab.runs(lab.speech, "promised")
    cluster = ray_cluster(lab.speech.namespace, "ray", template)
    inner = {key: value for key, value in cluster["spec"].items() if key != "suspend"}
    spec = {"entrypoint": "python train.py", "suspend": True, "rayClusterSpec": inner}
    lab.kit.create({**cluster, "kind": "RayJob", "spec": spec}, lab.world.tenant)
    lab.turn()
    found = lab.kit.get("RayJob", "ray", lab.speech.namespace)
    assert found["spec"]["suspend"] is False
    (group,) = found["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    worker = group["template"]["spec"]
    assert worker["priorityClassName"] == "evenshare-burst-h100"
    assert worker["nodeSelector"] == {"evenshare.io/pool": "h100"}
    # The head asks for no device and goes wherever it likes.
    assert (
        "nodeSelector" not in found["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    )

    lab.submit(lab.vision, "owner", gpus=8)
    lab.turn()
    lab.turn()
    assert lab.kit.get("RayJob", "ray", lab.speech.namespace)["spec"]["suspend"] is True
    lab.until(lambda: not lab.job(lab.vision, "owner")["spec"]["suspend"], "the owner to start")


def test_a_rehearsal_says_field_by_field_what_would_be_asked_and_asks_nothing(lab: Lab) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    kubernetes.collect(cluster_id=lab.cluster.pk, now=lab.now)
    scheduling.run_tick(cluster_id=lab.cluster.pk, now=lab.now)
    lines = kubernetes.rehearse(cluster_id=lab.cluster.pk, now=lab.now)
    said = {(line.kind, line.name, line.field): (line.was, line.now) for line in lines}
    assert said["Job", "train", "spec.suspend"] == (True, False)
    charged = "metadata.annotations[evenshare.io/charged-to]"
    assert said["Job", "train", charged] == (None, "guaranteed")
    assert lab.job(lab.vision, "train")["spec"]["suspend"] is True
    assert not Admission.objects.exists()
    assert not Ask.objects.exists()


def test_an_idle_turn_asks_the_cluster_for_nothing(lab: Lab) -> None:
    lab.submit(lab.vision, "train", gpus=2)
    lab.turn()
    lab.runs(lab.vision, "train")
    lab.turn()
    before = lab.job(lab.vision, "train")["metadata"]["resourceVersion"]
    carried = kubernetes.carry_out(cluster_id=lab.cluster.pk, now=lab.now)
    assert (carried.lines, carried.error) == ((), "")
    assert lab.job(lab.vision, "train")["metadata"]["resourceVersion"] == before
