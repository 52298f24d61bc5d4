"""Jobs that make room: asked once, dropped when not needed, never by who may not write."""

from datetime import timedelta
from typing import Any

import pytest

from portal.common import leases
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import services as kubernetes
from portal.kubernetes import standing
from portal.kubernetes.models import Ask, Stop, StopState
from portal.kubernetes.models import Verb as Asked
from portal.kubernetes.port import Manifest, Refused, StaleVersion, Unreachable
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.scheduling.models import Standing, Tick, TickState, Verb
from portal.workloads.models import WorkloadState
from tests.portal.kubernetes.labs import Lab

pytestmark = pytest.mark.django_db


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
