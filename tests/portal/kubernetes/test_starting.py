"""Jobs that are let start: written down first, never twice, again when it did not come to it."""

import pytest
from django.core.management import call_command

from portal.common import clock
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import services as kubernetes
from portal.kubernetes.models import Ask, Stop
from portal.kubernetes.models import Verb as Asked
from portal.kubernetes.port import Manifest, NotFound, Refused
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.workloads.models import Admission, Workload, WorkloadState
from tests.portal.kubernetes.labs import Lab

pytestmark = pytest.mark.django_db


def test_a_worker_that_dies_between_writing_down_and_asking_gives_nothing_away_twice(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """The worker is gone."""

    def die(self: SimulatedCluster, *_key: object, **_how: object) -> Manifest:
        raise Killed

    lab.port.delete("Job", "speech", "lent")
    lab.minute += 2
    lab.submit("owner")
    lab.look()
    lab.decide()
    with monkeypatch.context() as patch:
        patch.setattr(SimulatedCluster, "patch", die)
        with pytest.raises(Killed):
            lab.carry()
    assert lab.suspended("owner")
    assert Admission.objects.filter(workload__name="owner", ended_at=None).count() == 1

    # While it stands nobody else gets those devices; the next sync sees that it was never asked.
    lab.submit("late", namespace="speech")
    lab.turn()
    assert lab.suspended("late")
    lab.turn()
    assert not lab.suspended("owner")
    whys = Admission.objects.filter(workload__name="owner").values_list("why", flat=True)
    assert list(whys) == ["suspended", ""]


def test_a_start_the_cluster_refuses_is_kept_with_its_words_and_tried_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.port.delete("Job", "speech", "lent")
    lab.minute += 2
    lab.submit("owner")

    def refuse(self: SimulatedCluster, *_key: object, **_how: object) -> Manifest:
        raise Refused("admission webhook says no")

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedCluster, "patch", refuse)
        lab.turn()
        lab.turn()
    ask = Ask.objects.get(workload__name="owner")
    assert (ask.verb, ask.answer, ask.times) == (Asked.START, "admission webhook says no", 2)
    assert not Admission.objects.filter(workload__name="owner", ended_at=None).exists()
    lab.turn()
    assert not lab.suspended("owner")


def test_devices_that_somebody_took_since_the_tick_are_not_given_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.port.delete("Job", "speech", "lent")
    lab.minute += 2
    lab.submit("owner")
    lab.look()
    lab.decide()
    # Between tick and sync another job, let start by hand, is seen on the same machine.
    lab.submit("by-hand", namespace="speech")
    job = lab.port.get("Job", "speech", "by-hand")
    change = {"metadata": {"uid": job["metadata"]["uid"]}, "spec": {"suspend": False}}
    lab.port.patch("Job", "speech", "by-hand", change, manager="somebody")
    lab.look()
    assert lab.state("by-hand") in (WorkloadState.STARTING, WorkloadState.RUNNING)
    lab.carry()
    assert lab.suspended("owner")
    assert not Admission.objects.filter(workload__name="owner").exists()


def test_a_job_that_gets_no_node_in_time_waits_anew(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.port.delete("Job", "speech", "lent")
    lab.minute += 2
    lab.submit("owner")
    lab.look()
    lab.decide()
    for node in ("big-0", "big-1"):
        lab.port.cordon(node)
    lab.carry()
    assert not lab.suspended("owner")
    lab.minute += 11
    lab.turn()
    assert lab.suspended("owner")
    assert Admission.objects.filter(workload__name="owner").latest("id").why == "not_started"


def test_a_job_its_owner_suspends_frees_its_place(lab: Lab) -> None:
    job = lab.port.get("Job", "speech", "lent")
    change = {"metadata": {"uid": job["metadata"]["uid"]}, "spec": {"suspend": True}}
    lab.port.patch("Job", "speech", "lent", change, manager="its owner")
    lab.minute += 2
    lab.turn()
    ended = Admission.objects.filter(workload__name="lent").order_by("id").first()
    assert ended is not None
    assert ended.why == "suspended"
    assert lab.state("lent") != WorkloadState.STOPPING


def test_a_job_that_was_there_before_jobs_were_let_start_is_suspended_to_wait_like_others(
    lab: Lab,
) -> None:
    Cluster.objects.update(mode=ClusterMode.QUOTA)
    lab.turn()
    lab.submit("early", namespace="speech")
    lab.minute += 1
    lab.turn()
    assert Workload.objects.get(name="early").cluster_reason == "cluster_quota"
    Cluster.objects.update(mode=ClusterMode.ADMISSION)
    # Its pods are refused for as long as the quotas are those of before.
    lab.minute += 0.25
    lab.look()
    lab.decide()
    kubernetes.carry_out(cluster_id=lab.cluster.pk, now=lab.now)
    assert lab.suspended("early")


def test_an_object_that_is_gone_cannot_be_found(lab: Lab) -> None:
    with pytest.raises(NotFound):
        lab.port.get("Job", "speech", "never")


# -- where jobs start by themselves ----------------------------------------------------------------


def test_what_we_suspended_is_resumed_as_it_is_and_again_if_it_gets_no_node(lab: Lab) -> None:
    Cluster.objects.update(mode=ClusterMode.RECLAIM)
    victim = lab.want_it_back().workload.name
    lab.carry()
    assert Stop.objects.get().resumes
    lab.port.delete("Job", "vision", "owner")
    lab.minute += 2
    template = lab.port.get("Job", "speech", victim)["spec"]["template"]
    lab.look()
    lab.decide()
    for node in ("big-0", "big-1"):
        lab.port.cordon(node)
    lab.carry()
    assert not lab.suspended(victim)
    assert lab.port.get("Job", "speech", victim)["spec"]["template"] == template
    assert not Stop.objects.get().resumes

    lab.minute += 11
    lab.turn()
    assert lab.suspended(victim)
    assert Stop.objects.get().resumes
    for node in ("big-0", "big-1"):
        lab.port.cordon(node, cordoned=False)
    lab.turn()
    lab.turn()
    assert lab.state(victim) == WorkloadState.RUNNING


def test_the_command_says_field_by_field_what_it_would_ask(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = lab.want_it_back().workload.name
    monkeypatch.setattr(clock, "now", lambda: lab.now)
    call_command("sync", dry_run=True)
    said = capsys.readouterr().out
    assert f"Job speech/{victim} spec.suspend: False → True" in said
    assert not lab.suspended(victim)
    call_command("sync")
    assert f"Job speech/{victim} spec.suspend: False → True" in capsys.readouterr().out
    assert lab.suspended(victim)
