"""What a cluster shows becomes rows, once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Pool
from portal.teams.models import Team
from portal.workloads import services
from portal.workloads.models import ChargedTo, Pod, StageEvent, Workload, WorkloadState
from portal.workloads.seen import SeenPod, SeenWorkload
from portal.workloads.services import Observed
from tests import builders

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minute)


@pytest.fixture
def pool(db: None) -> Pool:
    """A pool of two nodes, and vision's namespace."""
    pool = builders.a_pool(nodes=2)
    inventory.register_namespace(
        cluster_id=pool.cluster_id, name="vision", team_id=builders.a_team("vision").pk,
        now=builders.LONG_AGO,
    )  # fmt: skip
    return pool


PODLESS = SeenWorkload(
    uid="job-1", name="train", namespace="vision", submitted_at=at(0), version="1", tasks=1,
    gpu_milli=2000, pool="h100", person="minji",
)  # fmt: skip
POD = SeenPod(
    uid="pod-1", name="train-0", node="h100-0", gpu_milli=2000, created_at=at(1),
    scheduled_at=at(1), devices=((0, 1000), (3, 1000)), guaranteed=True,
)  # fmt: skip
STARTING = replace(PODLESS, version="2", pods=(POD,))
RUNNING = replace(PODLESS, version="3", pods=(replace(POD, ready_at=at(3)),))


def look(pool: Pool, *seen: SeenWorkload, minute: int) -> Observed:
    """One look at the cluster."""
    return services.observe(cluster_id=pool.cluster_id, seen=seen, now=at(minute))


def states() -> list[str]:
    """The stages told so far."""
    return list(StageEvent.objects.order_by("at", "id").values_list("state", flat=True))


def test_a_job_waits_starts_runs_and_ends(pool: Pool) -> None:
    look(pool, PODLESS, minute=0)
    look(pool, STARTING, minute=2)
    look(pool, RUNNING, minute=5)
    done = replace(
        RUNNING, version="4", ended=WorkloadState.SUCCEEDED, ended_at=at(30),
        pods=(replace(POD, ready_at=at(3), closed_at=at(30)),),
    )  # fmt: skip
    look(pool, done, minute=31)

    row = Workload.objects.get()
    assert row.state == WorkloadState.SUCCEEDED
    assert (row.submitted_at, row.scheduled_at, row.ready_at, row.ended_at) == (
        at(0), at(1), at(3), at(30)
    )  # fmt: skip
    assert states() == ["waiting", "starting", "running", "succeeded"]
    pod = Pod.objects.get()
    assert (pod.scheduled_at, pod.closed_at, pod.devices) == (
        at(1), at(30), [[0, 1000], [3, 1000]]
    )  # fmt: skip


def test_one_late_look_tells_the_same_as_many(pool: Pool) -> None:
    done = replace(
        RUNNING, version="4", ended=WorkloadState.FAILED, ended_at=at(30),
        pods=(replace(POD, ready_at=at(3), closed_at=at(30), why="failed"),),
    )  # fmt: skip
    look(pool, done, minute=60)
    assert states() == ["waiting", "starting", "running", "failed"]


def test_looking_twice_changes_nothing_but_when_it_was_seen(pool: Pool) -> None:
    assert look(pool, RUNNING, minute=5) == Observed(new=1)
    before = list(Workload.objects.values()), list(Pod.objects.values()), states()
    assert look(pool, RUNNING, minute=5) == Observed(same=1)
    assert (list(Workload.objects.values()), list(Pod.objects.values()), states()) == before
    look(pool, RUNNING, minute=9)
    assert Pod.objects.get().seen_at == Workload.objects.get().seen_at == at(9)


def test_a_preempted_job_waits_again(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    gone = replace(POD, ready_at=at(3), stopping_at=at(7), closed_at=at(8), why="preempted")
    look(pool, replace(PODLESS, version="4", pods=(gone,)), minute=10)

    row = Workload.objects.get()
    assert (row.state, row.preemptions) == (WorkloadState.WAITING, 1)
    event = StageEvent.objects.get(state="waiting", at=at(8))
    assert event.why == "preempted"
    # The pod itself is not shown any more; its history stays.
    look(pool, replace(PODLESS, version="5"), minute=12)
    assert Pod.objects.get().closed_at == at(8)
    assert not Pod.objects.get().estimated


def test_what_the_cluster_forgot_ends_where_it_was_last_seen(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    assert look(pool, minute=20) == Observed(forgotten=1)

    row, pod = Workload.objects.get(), Pod.objects.get()
    assert (row.state, row.ended_at) == (WorkloadState.CANCELLED, at(5))
    assert (pod.closed_at, pod.estimated) == (at(5), True)
    assert StageEvent.objects.latest("id").why == "forgotten"
    assert look(pool, minute=25) == Observed()


def test_a_pod_that_comes_back_into_sight_was_never_gone(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    look(pool, replace(PODLESS, version="4"), minute=6)
    assert Pod.objects.get().estimated
    look(pool, replace(RUNNING, version="5"), minute=7)
    assert (Pod.objects.get().closed_at, Pod.objects.get().estimated) == (None, False)


def test_a_name_used_again_is_a_new_workload(pool: Pool) -> None:
    look(pool, PODLESS, minute=0)
    look(pool, replace(PODLESS, uid="job-2"), minute=1)
    assert Workload.objects.count() == 2


def test_a_person_is_known_by_user_name_and_else_by_what_the_cluster_says(pool: Pool) -> None:
    minji = builders.a_user("minji")
    look(pool, PODLESS, replace(PODLESS, uid="job-2", person="stranger"), minute=0)
    known, unknown = Workload.objects.order_by("id")
    assert (known.user, unknown.user, unknown.person) == (minji, None, "stranger")


def test_work_in_a_namespace_of_no_team_is_nobodys(pool: Pool) -> None:
    look(pool, replace(RUNNING, namespace="sandbox"), minute=5)
    assert Workload.objects.get().team is None


def test_a_namespace_that_changes_hands_takes_its_open_work_along(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    speech = builders.a_team("speech")
    inventory.register_namespace(
        cluster_id=pool.cluster_id, name="vision", team_id=speech.pk, now=at(6)
    )
    look(pool, RUNNING, minute=7)
    assert Workload.objects.get().team == speech


def test_a_reservation_counts_only_if_it_is_the_teams_own(pool: Pool) -> None:
    vision = Team.objects.get(slug="vision")
    own = builders.a_reservation(vision, pool, at(0), hours=2)
    others = builders.a_reservation(builders.a_team("speech"), pool, at(0), hours=2)
    look(
        pool,
        replace(PODLESS, reservation_id=own.pk),
        replace(PODLESS, uid="job-2", reservation_id=others.pk),
        replace(PODLESS, uid="job-3", reservation_id=999_999),
        minute=0,
    )
    named = dict(Workload.objects.values_list("uid", "reservation_id"))
    assert named == {"job-1": own.pk, "job-2": None, "job-3": None}


def test_before_any_tick_the_class_says_what_a_pod_is_charged_to(pool: Pool) -> None:
    borrowed = replace(POD, uid="pod-2", guaranteed=False)
    look(pool, RUNNING, replace(RUNNING, uid="job-2", pods=(borrowed,)), minute=5)
    assert list(Pod.objects.order_by("id").values_list("charged_to", flat=True)) == [
        ChargedTo.GUARANTEED, ChargedTo.BORROWED
    ]  # fmt: skip


def test_a_charge_made_by_a_tick_is_not_undone_by_a_look(pool: Pool) -> None:
    look(pool, STARTING, minute=2)
    Pod.objects.update(charged_to=ChargedTo.RESERVED)
    look(pool, RUNNING, minute=5)
    assert Pod.objects.get().charged_to == ChargedTo.RESERVED


def test_the_last_pods_of_a_job_gone_already_keep_what_is_known_of_it(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    last = replace(POD, ready_at=at(3), closed_at=at(9), why="deleted")
    orphan = SeenWorkload(
        uid="job-1", name="train-0", namespace="vision", submitted_at=at(1), version="9", tasks=1,
        gpu_milli=2000, pods=(last,), ended=WorkloadState.FAILED, ended_at=at(9), orphan=True,
    )  # fmt: skip
    look(pool, orphan, minute=10)
    row = Workload.objects.get()
    assert (row.name, row.person, row.submitted_at) == ("train", "minji", at(0))
    assert row.ended_at == at(9)


def test_what_a_start_waited_for_stays_known_when_the_pod_no_longer_tells(pool: Pool) -> None:
    told = replace(POD, mounted_at=at(2), started_at=at(3), ready_at=at(4), restarts=1)
    look(pool, replace(PODLESS, version="3", pods=(told,)), minute=5)
    ended = replace(POD, started_at=at(9), ready_at=at(9), closed_at=at(30), restarts=2)
    look(pool, replace(PODLESS, version="4", pods=(ended,)), minute=31)

    pod = Pod.objects.get()
    assert (pod.mounted_at, pod.started_at, pod.restarts) == (at(2), at(3), 2)


def test_the_numbers_of_a_reason_stand_beside_its_word(pool: Pool) -> None:
    detail = {"nodes": 3, "cordoned": 1}
    said = replace(PODLESS, cluster_reason="cluster_taint", cluster_detail=detail)
    look(pool, said, minute=0)
    assert Workload.objects.get().cluster_detail == detail
    look(pool, replace(PODLESS, version="2"), minute=1)
    assert Workload.objects.get().cluster_detail == {}


def test_a_job_may_say_itself_when_its_first_step_was(pool: Pool) -> None:
    look(pool, RUNNING, minute=5)
    assert Workload.objects.get().first_step_at is None
    look(pool, replace(RUNNING, version="4", first_step_at=at(7)), minute=8)
    assert Workload.objects.get().first_step_at == at(7)


def test_pods_behind_a_gate_wait_until_it_is_seen_open(pool: Pool) -> None:
    waits = replace(POD, node="", scheduled_at=None, gated=True, devices=())
    look(pool, replace(PODLESS, version="1", pods=(waits,)), minute=2)
    assert states() == ["waiting"]
    assert Workload.objects.get().state == WorkloadState.WAITING
    opened = replace(waits, gated=False)
    look(pool, replace(PODLESS, version="2", pods=(opened,)), minute=30)
    look(pool, replace(PODLESS, version="3", pods=(replace(opened, node="h100-0",
         scheduled_at=at(31)),)), minute=40)  # fmt: skip
    assert states() == ["waiting", "admitted", "starting"]
    row = Workload.objects.get()
    assert (row.admitted_at, row.scheduled_at) == (at(30), at(31))


def test_a_gate_that_opened_between_two_looks_was_open_before_its_pod_had_a_node(
    pool: Pool,
) -> None:
    waits = replace(POD, node="", scheduled_at=None, gated=True, devices=())
    look(pool, replace(PODLESS, version="1", pods=(waits,)), minute=2)
    runs = replace(POD, scheduled_at=at(25), ready_at=at(26))
    look(pool, replace(PODLESS, version="2", pods=(runs,)), minute=30)
    look(pool, replace(PODLESS, version="2", pods=(runs,)), minute=31)
    assert states() == ["waiting", "starting", "running"]
    assert Workload.objects.get().admitted_at == at(25)


def test_a_pod_that_is_deleted_behind_its_gate_leaves_no_trace(pool: Pool) -> None:
    waits = replace(POD, node="", scheduled_at=None, gated=True, devices=())
    look(pool, replace(PODLESS, version="1", pods=(waits,)), minute=2)
    look(pool, replace(PODLESS, version="2", pods=(replace(waits, closed_at=at(5)),)), minute=6)
    assert states() == ["waiting"]
    assert Workload.objects.get().state == WorkloadState.WAITING
