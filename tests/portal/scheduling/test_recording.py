"""A plan comes back as rows: only what changed, and nothing of it lost."""

import json
import zlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from portal.common import leases
from portal.common.models import Lease
from portal.inventory.models import Pool
from portal.scheduling import freezing, recording, services
from portal.scheduling.models import Decision, Share, Standing, Tick, TickState, Verb
from portal.scheduling.recording import Cycle
from portal.teams.models import Team
from portal.usage.models import DecayedUse
from portal.workloads.models import ChargedTo, Pod, Workload, WorkloadState
from scheduler_core import model as engine
from tests import builders

pytestmark = pytest.mark.django_db
LATER = timedelta(seconds=60)
PLANNED = datetime(2026, 11, 2, 3, 0, tzinfo=UTC)


@dataclass
class Lab:
    """A pool of two nodes, a running job and a waiting one."""

    now: datetime
    team: Team = field(default_factory=builders.a_team)
    pool: Pool = field(default_factory=lambda: builders.a_pool(nodes=2))

    def __post_init__(self) -> None:
        self.running = builders.a_workload(
            self.team, self.pool, "runs", gpu_milli=2000, state=WorkloadState.RUNNING
        )
        self.pod = builders.a_pod(self.running, self.pool.nodes.first())
        self.waiting = builders.a_workload(self.team, self.pool, "waits", gpu_milli=8000)
        self.plan = engine.Plan(
            now=0,
            running=(engine.RunningCharge(f"w{self.running.pk}", "guaranteed"),),
            waiting=(self.waits("fragmented", position=1),),
            fairness=engine.Fairness(0.5),
        )

    def waits(self, reason: str, position: int, planned: int | None = None) -> engine.Waiting:
        return engine.Waiting(
            f"w{self.waiting.pk}", position, reason, {"free_gpu_milli": 14000}, planned
        )

    def record(self, plan: engine.Plan | None = None, after: timedelta = timedelta()) -> Tick:
        now = self.now + after
        frozen = freezing.freeze(cluster_id=self.pool.cluster_id, now=now)
        Lease.objects.update_or_create(name="tick", defaults={"fence": 7, "holder": "test"})
        lease = leases.Held(name="tick", holder="test", fence=7)
        cycle = Cycle(self.pool.cluster_id, now, now, lease=lease, took_ms=12)
        return recording.record(cycle, frozen, plan or self.plan)


@pytest.fixture
def lab(now: datetime) -> Lab:
    return Lab(now)


def test_a_plan_stands_in_rows_word_for_word(lab: Lab) -> None:
    team, pool = f"t{lab.team.pk}", f"p{lab.pool.pk}"
    share = engine.Share(
        team, pool, guaranteed=8000, reserved=1000, fair_share=12000, allocated=2000, borrowed=0,
        lent=500, available=6000, dominant_share=0.125, satisfaction=0.25, factor=None,
    )  # fmt: skip
    plan = replace(
        lab.plan,
        waiting=(lab.waits("fragmented", position=3, planned=int(PLANNED.timestamp())),),
        shares=(share, replace(share, team="t0")),
        quotas=(engine.QuotaOut(team, pool, guaranteed_gpus=9, burst_gpus=4),),
        fragmentation=(engine.PoolFragmentation(pool, 14000, 8000, 300),),
    )
    tick = lab.record(plan)
    assert (tick.state, tick.waiting, tick.running, tick.starts) == (TickState.DONE, 1, 1, 0)
    assert (tick.jain, tick.fence, tick.placement_mode) == (0.5, 7, "pack")
    assert tick.fragmentation == [
        {"pool_id": lab.pool.pk, "free_gpu_milli": 14000, "largest_on_one_node": 8000,
         "fragmented_gpu_milli": 300}
    ]  # fmt: skip
    standing = Standing.objects.get(workload=lab.waiting)
    assert (standing.verb, standing.reason, standing.position) == (Verb.WAIT, "fragmented", 3)
    assert standing.detail == {"free_gpu_milli": 14000}
    assert standing.planned_start == PLANNED
    row = Share.objects.get()
    assert (row.guaranteed, row.fair_share, row.lent) == (8000, 12000, 500)
    assert (row.guaranteed_gpus, row.burst_gpus) == (9, 4)


def test_the_snapshot_kept_is_the_one_decided_on(lab: Lab) -> None:
    frozen = freezing.freeze(cluster_id=lab.pool.cluster_id, now=lab.now)
    kept = Tick.objects.get(pk=lab.record().pk).snapshot
    assert kept is not None
    assert zlib.decompress(kept) == recording.snapshot_bytes(frozen.snapshot)
    assert json.loads(zlib.decompress(kept))["schema"] == 1


def test_a_decision_is_written_only_when_verb_reason_or_planned_start_changed(lab: Lab) -> None:
    lab.record()
    assert Decision.objects.count() == 2
    lab.record()
    assert Decision.objects.count() == 2
    moved = replace(lab.plan, waiting=(lab.waits("fragmented", position=2),))
    lab.record(moved)
    assert Decision.objects.count() == 2
    assert Standing.objects.get(workload=lab.waiting).position == 2
    for waiting in (lab.waits("pool_full", 2), lab.waits("pool_full", 2, planned=60)):
        lab.record(replace(lab.plan, waiting=(waiting,)))
    found = Decision.objects.filter(workload=lab.waiting).order_by("id")
    assert [(d.reason, bool(d.planned_start)) for d in found] == [
        ("fragmented", False), ("pool_full", False), ("pool_full", True),
    ]  # fmt: skip


def test_a_standing_nobody_speaks_of_any_more_goes(lab: Lab) -> None:
    lab.record()
    lab.record(replace(lab.plan, waiting=()))
    assert list(Standing.objects.values_list("workload_id", flat=True)) == [lab.running.pk]


def test_a_victim_stands_as_one_and_stops_for_the_one_it_made_room_for(lab: Lab) -> None:
    victim, other = f"w{lab.running.pk}", f"w{lab.waiting.pk}"
    plan = replace(
        lab.plan, running=(),
        preemptions=(engine.Preempted(victim, other, "reclaim_guaranteed", None, 5400),),
    )  # fmt: skip
    tick = lab.record(plan)
    standing = Standing.objects.get(workload=lab.running)
    assert (tick.preemptions, standing.verb, standing.reason) == (
        1, Verb.PREEMPT, "reclaim_guaranteed",
    )  # fmt: skip
    assert standing.detail == {"for": other, "tasks": None, "lost_gpu_seconds": 5400}
    Workload.objects.filter(pk=lab.running.pk).update(state=WorkloadState.STOPPING)
    Pod.objects.filter(pk=lab.pod.pk).update(stopping_at=lab.now)
    frozen = freezing.freeze(cluster_id=lab.pool.cluster_id, now=lab.now)
    work = next(w for w in frozen.snapshot.workloads if w.id == victim)
    assert work.running is not None
    assert work.running.stopping_for == other
    # The engine says no more of it; its standing stays until its pods are gone.
    lab.record(replace(lab.plan, running=()))
    assert Standing.objects.get(workload=lab.running).verb == Verb.PREEMPT


def test_pods_and_workloads_carry_what_they_are_charged_to(lab: Lab) -> None:
    lab.record()
    assert Pod.objects.get().charged_to == ChargedTo.GUARANTEED
    assert Workload.objects.get(pk=lab.running.pk).charged_to == ChargedTo.GUARANTEED
    borrowed = (engine.RunningCharge(f"w{lab.running.pk}", "borrowed"),)
    lab.record(replace(lab.plan, running=borrowed))
    assert Pod.objects.get().charged_to == ChargedTo.BORROWED


def test_running_work_pays_for_the_time_since_the_last_tick(lab: Lab) -> None:
    Pool.objects.update(gpu_equivalent_milli=500)
    lab.record()  # 2 GPUs worth half each, for the 15 seconds before the first tick
    assert DecayedUse.objects.get().gpu_seconds == pytest.approx(15)
    lab.record(after=LATER)
    kept = 0.5 ** (60 / 604800)
    assert DecayedUse.objects.get().gpu_seconds == pytest.approx(15 * kept + 60)


def test_a_start_pays_one_interval_at_once_and_not_again(lab: Lab) -> None:
    node = engine.Placement("h100-1", 1, tuple((index, 1000) for index in range(8)))
    start = engine.Start(f"w{lab.waiting.pk}", (node,), "guaranteed")
    plan = engine.Plan(now=0, starts=(start,))
    Pod.objects.all().delete()
    Workload.objects.filter(pk=lab.running.pk).delete()
    lab.record(plan)
    assert DecayedUse.objects.get().gpu_seconds == pytest.approx(8 * 15)
    lab.record(plan, after=LATER)  # said again, not yet begun: nothing more to pay
    assert DecayedUse.objects.get().gpu_seconds == pytest.approx(8 * 15, rel=1e-3)
    assert Workload.objects.get().charged_to == ChargedTo.GUARANTEED


def test_use_of_no_team_is_charged_to_nobody(lab: Lab) -> None:
    Workload.objects.update(team=None)
    lab.record(replace(lab.plan, waiting=()))
    assert not DecayedUse.objects.exists()
    assert not Standing.objects.exists()
    assert Pod.objects.get().charged_to == ""


def test_recording_asks_as_many_questions_of_many_workloads_as_of_few(lab: Lab) -> None:
    counts: list[int] = []
    for batch in (1, 30):
        for number in range(batch):
            builders.a_workload(lab.team, lab.pool, f"w-{batch}-{number}")
        waiting = tuple(
            engine.Waiting(f"w{pk}", 1, "pool_full")
            for pk in Workload.objects.exclude(pk=lab.running.pk).values_list("pk", flat=True)
        )
        with CaptureQueriesContext(connection) as asked:
            lab.record(replace(lab.plan, waiting=waiting))
        counts.append(len(asked))
    assert counts[1] <= counts[0]


def test_what_is_past_its_time_is_forgotten(lab: Lab) -> None:
    quiet, busy = lab.record(), lab.record()
    Tick.objects.filter(pk=busy.pk).update(starts=1)
    for tick in (quiet, busy):
        Share.objects.create(
            tick=tick, team=lab.team, pool=lab.pool, guaranteed=0, reserved=0, fair_share=0,
            allocated=0, borrowed=0, lent=0, available=0, dominant_share=0, satisfaction=1,
            guaranteed_gpus=0, burst_gpus=0,
        )  # fmt: skip
    day = timedelta(days=1)
    assert recording.prune(now=lab.now + day) == {"snapshots": 0, "shares": 0, "ticks": 0}
    assert recording.prune(now=lab.now + 2 * day + LATER) == {
        "snapshots": 1, "shares": 1, "ticks": 0,
    }  # fmt: skip
    assert recording.prune(now=lab.now + 31 * day)["snapshots"] == 1
    Standing.objects.all().delete()
    assert recording.prune(now=lab.now + 401 * day)["ticks"] == 2
    assert not Tick.objects.exists()


def test_a_tick_whose_lease_was_taken_meanwhile_writes_nothing(now: datetime) -> None:
    cluster = builders.a_cluster()
    cluster.seen_real_at = now
    cluster.save()
    mine = leases.take(name="tick", holder="a", seconds=60)
    Lease.objects.update(fence=F("fence") + 1, holder="b")
    with pytest.raises(leases.Fenced, match="b"):
        services.run_tick(cluster_id=cluster.pk, now=now, real_now=now, lease=mine)
    assert not Tick.objects.exists()
