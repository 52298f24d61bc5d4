"""Jobs that make room: asked once, dropped when not needed, never by who may not write."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from portal.common import clock, leases
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import services as kubernetes
from portal.kubernetes import standing
from portal.kubernetes.models import Ask, Stop, StopState
from portal.kubernetes.models import Verb as Asked
from portal.kubernetes.port import Manifest, NotFound, Refused, StaleVersion, Unreachable
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.quotas import services as quotas
from portal.scheduling import services as scheduling
from portal.scheduling.models import Standing, Tick, TickState, Verb
from portal.teams.models import Team
from portal.workloads.models import Admission, Workload, WorkloadState
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db


class Lab:
    """Two machines of eight A100s; speech borrows one of them, and vision wants it back."""

    def __init__(self, cluster: Cluster, port: SimulatedCluster) -> None:
        self.cluster, self.port, self.minute = cluster, port, 0.0
        self.look()
        self.decide()
        for team in world.TEAMS:
            quotas.change(
                team_id=Team.objects.get(slug=team).pk, guaranteed=8, limit=None, actor_id=None,
                pool_id=world.pool_of(cluster, "a100").pk, now=self.now, valid_from=self.now,
            )  # fmt: skip
        self.turn()
        for name in ("lent", "borrows"):
            self.submit(name, namespace="speech", work=36_000)
        self.turn()
        self.turn()
        self.turn()
        assert {self.state(name) for name in ("lent", "borrows")} == {WorkloadState.RUNNING}
        self.minute += 10

    @property
    def now(self) -> datetime:
        return START + minutes(self.minute)

    def look(self) -> None:
        kubernetes.collect(cluster_id=self.cluster.pk, now=self.now)

    def decide(self) -> Tick:
        return scheduling.run_tick(cluster_id=self.cluster.pk, now=self.now)

    def carry(self, **more: Any) -> kubernetes.Carried:
        kubernetes.sync_cluster(cluster_id=self.cluster.pk, now=self.now)
        return kubernetes.carry_out(cluster_id=self.cluster.pk, now=self.now, **more)

    def turn(self) -> None:
        self.minute += 0.25
        self.look()
        self.decide()
        assert self.carry().error == ""

    def submit(self, name: str, **more: Any) -> None:
        self.port.submit(world.a_spec(name, gpus=8, **more))

    def want_it_back(self) -> Standing:
        """Vision asks for its own; what the tick says of who makes room."""
        self.submit("owner")
        self.minute += 0.25
        self.look()
        self.decide()
        return Standing.objects.select_related("workload").get(verb=Verb.PREEMPT)

    def state(self, name: str) -> str:
        return Workload.objects.get(name=name).state

    def suspended(self, name: str) -> bool:
        return next(
            bool(i["spec"]["suspend"]) for i in self.port.owners().items
            if i["metadata"]["name"] == name
        )  # fmt: skip


@pytest.fixture
def lab(folder: Path) -> Lab:
    cluster, port = world.a_registered(folder, world.a_plan())
    Cluster.objects.update(mode=ClusterMode.ADMISSION)
    cluster.refresh_from_db()
    return Lab(cluster, port)


def test_a_victim_is_asked_once_however_often_the_cycle_is_repeated(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    for _ in range(3):
        lab.carry()
    assert Ask.objects.filter(verb=Asked.SUSPEND).count() == 1
    assert Stop.objects.count() == 1
    assert lab.suspended(victim)
    actions = AuditEvent.objects.values_list("action", flat=True)
    assert "kubernetes.stop_opened" in actions
    ask = Ask.objects.get(verb=Asked.SUSPEND)
    assert (ask.answer, ["spec.suspend", False, True] in ask.changes) == ("", True)


def test_the_engine_sees_the_devices_as_kept_until_the_pods_are_gone(lab: Lab) -> None:
    victim = lab.want_it_back().workload
    lab.carry()
    lab.minute += 0.1
    lab.look()
    tick = lab.decide()
    assert lab.state(victim.name) == WorkloadState.STOPPING
    standing_of = Standing.objects.get(workload__name="owner")
    assert (standing_of.verb, tick.starts) == (Verb.WAIT, 0) or standing_of.detail["after"]
    lab.carry()
    assert lab.suspended("owner")
    lab.minute += 1
    lab.turn()
    lab.turn()
    assert not lab.suspended("owner")


def test_who_need_not_make_room_any_more_is_left_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = lab.want_it_back().workload.name

    def refuse(self: SimulatedCluster, *_key: object, **_how: object) -> Manifest:
        raise Refused("not now")

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedCluster, "patch", refuse)
        lab.carry()
    stop = Stop.objects.get()
    assert (stop.state, stop.message) == (StopState.REFUSED, "not now")
    lab.port.delete("Job", "vision", "owner")
    lab.turn()
    assert Stop.objects.get().state == StopState.DROPPED
    assert not lab.suspended(victim)
    assert lab.state(victim) == WorkloadState.RUNNING


def test_a_victim_that_was_deleted_or_ended_under_our_hands_is_fine(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    lab.port.delete("Job", "speech", victim)
    assert lab.carry().error == ""
    lab.minute += 2
    lab.turn()
    lab.turn()
    assert Stop.objects.get().state == StopState.GONE
    assert lab.state(victim) == WorkloadState.CANCELLED
    assert not lab.suspended("owner")


def test_a_victim_that_changed_between_look_and_ask_is_asked_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = lab.want_it_back().workload.name
    real = SimulatedCluster.patch
    lost: list[Any] = []

    def race(self: SimulatedCluster, *key: Any, **how: Any) -> Manifest:
        if not lost:
            lost.append(key)
            raise StaleVersion("the object has been modified")
        return real(self, *key, **how)

    monkeypatch.setattr(SimulatedCluster, "patch", race)
    lab.carry()
    assert Stop.objects.get().state == StopState.REFUSED
    lab.carry()
    assert Stop.objects.get().state == StopState.ASKED
    assert lab.suspended(victim)


def test_a_cluster_that_does_not_answer_ends_the_cycle_and_the_next_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = lab.want_it_back().workload.name

    def silent(self: SimulatedCluster, *_key: object, **_how: object) -> Manifest:
        raise Unreachable("no route")

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedCluster, "patch", silent)
        assert lab.carry().error == "no route"
    assert not lab.suspended(victim)
    lab.carry()
    assert lab.suspended(victim)


def test_who_lost_the_lease_asks_for_nothing_more(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    name = f"sync-{lab.cluster.pk}"
    paused = leases.take(name=name, holder="slow", seconds=-1)
    assert paused is not None
    leases.take(name=name, holder="fast", seconds=60)
    with pytest.raises(leases.Fenced):
        lab.carry(lease=paused)
    assert not lab.suspended(victim)


def test_a_sync_that_rests_asks_for_nothing(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    standing.pause(cluster_id=lab.cluster.pk, reason="look first", actor_id=None, now=lab.now)
    assert lab.carry().lines == ()
    assert not lab.suspended(victim)
    assert kubernetes.rehearse(cluster_id=lab.cluster.pk, now=lab.now) == []


def test_a_tick_that_could_not_decide_lets_nobody_start_or_stop(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    Tick.objects.create(
        cluster=lab.cluster, at=lab.now, state=TickState.STALE, started_real_at=lab.now
    )
    assert lab.carry().lines == ()
    assert not lab.suspended(victim)


def test_a_decision_that_is_too_old_is_not_acted_upon(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    newest = Tick.objects.order_by("-id").first()
    assert newest is not None
    old = newest.started_real_at - timedelta(seconds=lab.cluster.stale_after_seconds + 1)
    Tick.objects.filter(pk=newest.pk).update(started_real_at=old)
    assert lab.carry().lines == ()
    assert not lab.suspended(victim)


@pytest.mark.parametrize("mode", [ClusterMode.OBSERVE, ClusterMode.QUOTA])
def test_a_mode_that_takes_nothing_back_asks_for_nothing(lab: Lab, mode: ClusterMode) -> None:
    victim = lab.want_it_back().workload.name
    Cluster.objects.update(mode=mode)
    assert lab.carry().lines == ()
    assert not lab.suspended(victim)
    assert kubernetes.rehearse(cluster_id=lab.cluster.pk, now=lab.now) == []


def test_a_rehearsal_says_who_would_make_room_and_asks_for_nothing(lab: Lab) -> None:
    victim = lab.want_it_back().workload.name
    lines = kubernetes.rehearse(cluster_id=lab.cluster.pk, now=lab.now)
    said = [(line.kind, line.name, line.field, line.was, line.now) for line in lines]
    assert ("Job", victim, "spec.suspend", False, True) in said
    assert not lab.suspended(victim)
    assert not Stop.objects.exists()
    assert not Ask.objects.exclude(verb=Asked.START).exists()


# -- what happens to starts ------------------------------------------------------------------------


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
