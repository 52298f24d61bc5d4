"""Quota and reclaim on a real server: jobs start by themselves, and make room when they must."""

from collections.abc import Iterator

import pytest

from portal.inventory.models import ClusterMode
from portal.kubernetes.models import Stop, StopState
from portal.scheduling.models import Standing, Verb
from portal.workloads.models import Admission, WorkloadState
from tests.cluster.admitting import GATE, installed
from tests.cluster.kit import Kit, wait_for
from tests.cluster.labs import Lab
from tests.cluster.worlds import NVIDIA, Team, World, device_pod, job, refusal


@pytest.fixture(scope="module")
def reclaiming(kit: Kit) -> Iterator[None]:
    """Everything of mode quota + reclaim."""
    with installed(kit, "reclaim"):
        yield


@pytest.fixture
def lab(reclaiming: None, world: World) -> Lab:
    """Two teams in a cluster that takes back and lets start nobody."""
    return Lab(world, ClusterMode.RECLAIM)


def submit(lab: Lab, team: Team, name: str) -> None:
    """A job of eight GPUs within the guarantee that starts by itself."""
    wait_for(lambda: _has_room(lab, team), "the quota to have room")
    lab.kit.create(job(team.namespace, name, devices={NVIDIA: 8}), lab.world.tenant)


def _has_room(lab: Lab, team: Team) -> bool:
    lab.turn()
    key = f"requests.{NVIDIA}"
    found = [
        lab.kit.get("ResourceQuota", name, team.namespace)["status"]
        for name in ("evenshare-guaranteed-h100", "evenshare-total")
    ]
    return all(
        int(one.get("hard", {}).get(key, 0)) - int(one.get("used", {}).get(key, 0)) >= 8
        for one in found
    )


def test_work_above_a_shrunk_guarantee_is_suspended_for_its_owner_and_resumed_later(
    lab: Lab,
) -> None:
    lab.promise(lab.vision, 0)
    lab.promise(lab.speech, 16)
    for name in ("one", "two"):
        submit(lab, lab.speech, name)
        lab.runs(lab.speech, name)
    lab.turn()
    assert not Admission.objects.exists()

    # All of them carry the same class, so the cluster itself takes nothing from anybody.
    lab.promise(lab.speech, 8)
    lab.promise(lab.vision, 8)
    submit(lab, lab.vision, "owner")
    stop = lab.until(lambda: Stop.objects.first(), "somebody to make room")
    victim = stop.workload.name
    assert lab.job(lab.speech, victim)["spec"]["suspend"] is True
    (pod,) = lab.pods(lab.speech, victim)
    lab.gone(lab.speech, pod)
    lab.runs(lab.vision, "owner")
    lab.until(lambda: Stop.objects.get().state == StopState.GONE, "the room to be made")
    assert lab.row(victim).state == WorkloadState.WAITING
    assert lab.row(victim).preemptions == 1
    assert lab.row("owner").state == WorkloadState.RUNNING

    # Nobody else would let it start again, so we do.
    lab.kit.delete("Job", "owner", lab.vision.namespace)
    for one in lab.pods(lab.vision, "owner"):
        lab.kit.delete("Pod", one["metadata"]["name"], lab.vision.namespace)
    lab.until(lambda: not lab.job(lab.speech, victim)["spec"]["suspend"], "it to be resumed")
    assert not Stop.objects.filter(resumes=True).exists()


def test_what_its_owner_suspended_is_not_let_start(lab: Lab) -> None:
    lab.submit(lab.vision, "later", gpus=2)
    lab.turn()
    lab.turn()
    assert Standing.objects.get(workload=lab.row("later")).verb == Verb.START
    assert lab.job(lab.vision, "later")["spec"]["suspend"] is True


def test_the_account_opens_no_gate_in_this_mode(lab: Lab) -> None:
    wait_for(lambda: _has_room(lab, lab.vision))
    pod = device_pod(lab.vision.namespace, "bare", schedulingGates=[GATE])
    lab.kit.create(pod, lab.world.tenant)
    said = refusal(
        lab.world.port().patch, "Pod", lab.vision.namespace, "bare",
        {"spec": {"schedulingGates": []}}, manager="evenshare",
    )  # fmt: skip
    assert "cannot patch resource" in said
