"""One cycle of a cluster: what it decides, when it decides nothing, and how it can be replayed."""

import json
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, Pool
from portal.scheduling import freezing, selectors, services
from portal.scheduling.models import Decision, Policy, Share, Standing, Tick, TickState
from portal.teams.models import Team
from portal.workloads.models import WorkloadState
from scheduler_core import planner
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(now: datetime) -> Pool:
    """Four GPUs: one runs, three are free; one job fits, one does not, one has no quota."""
    team, pool = builders.a_team(), builders.a_pool(nodes=1, gpus=4)
    builders.a_quota(team, pool, guaranteed=2, limit=4)
    runs = builders.a_workload(team, pool, "runs", state=WorkloadState.RUNNING)
    builders.a_pod(runs, pool.nodes.get())
    builders.a_workload(team, pool, "fits", gpu_milli=2000)
    builders.a_workload(team, pool, "too-many", gpu_milli=2000)
    builders.a_workload(builders.a_team("speech"), pool, "no-quota")
    seen(pool.cluster, now)
    return pool


def seen(cluster: Cluster, real: datetime) -> None:
    cluster.seen_real_at = real
    cluster.save()


def run(pool: Pool, now: datetime, real_now: datetime | None = None) -> Tick:
    return services.run_tick(cluster_id=pool.cluster_id, now=now, real_now=real_now or now)


def test_a_tick_starts_what_fits_and_says_why_the_rest_waits(pool: Pool, now: datetime) -> None:
    tick = run(pool, now)
    assert (tick.state, tick.running, tick.starts, tick.waiting) == (TickState.DONE, 1, 1, 2)
    said = {row.workload.name: (row.verb, row.reason) for row in Decision.objects.all()}
    assert said == {
        "runs": ("run", ""),
        "fits": ("start", ""),
        "too-many": ("wait", "quota_exceeded"),
        "no-quota": ("wait", "no_quota_in_pool"),
    }
    share = Share.objects.get(team__slug="vision")
    assert (share.guaranteed, share.allocated, share.borrowed) == (2000, 3000, 2000)


def test_a_stale_cluster_decides_nothing(pool: Pool, now: datetime) -> None:
    assert run(pool, now, real_now=now + timedelta(seconds=120)).state == TickState.DONE
    Decision.objects.all().delete()
    Standing.objects.all().delete()
    tick = run(pool, now, real_now=now + timedelta(seconds=180))
    assert tick.state == TickState.STALE
    assert "read 3 m ago, more than the 2 m allowed" in tick.message
    assert not Decision.objects.exists()
    assert not Standing.objects.exists()


def test_how_old_a_cluster_is_counts_in_real_time_not_in_the_organisations(
    pool: Pool, now: datetime
) -> None:
    assert run(pool, now + timedelta(days=30), real_now=now).state == TickState.DONE


def test_a_cluster_never_read_decides_nothing(now: datetime) -> None:
    pool = builders.a_pool(nodes=1)
    assert run(pool, now).state == TickState.STALE


def test_a_failure_leaves_a_failed_tick_and_is_raised(
    pool: Pool, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("no such pool")

    monkeypatch.setattr(freezing, "freeze", broken)
    with pytest.raises(RuntimeError):
        run(pool, now)
    tick = Tick.objects.get()
    assert (tick.state, tick.message) == (TickState.FAILED, "RuntimeError: no such pool")


def test_a_downloaded_snapshot_run_by_the_engine_gives_the_same_decisions(
    pool: Pool, now: datetime
) -> None:
    tick = run(pool, now)
    text = selectors.get_snapshot(tick_id=tick.pk)
    assert text is not None
    answer = subprocess.run(
        [sys.executable, "-m", "scheduler_core", "plan"],
        input=text,
        capture_output=True,
        check=True,
    )
    plan = json.loads(answer.stdout)
    again = {w["workload"]: ("wait", w["reason"]) for w in plan["waiting"]}
    again |= {s["workload"]: ("start", "") for s in plan["starts"]}
    again |= {r["workload"]: ("run", "") for r in plan["running"]}
    assert again == {f"w{row.workload_id}": (row.verb, row.reason) for row in tick.decisions.all()}


def test_a_job_that_has_no_team_and_one_that_stops_do_not_trouble_the_engine(
    pool: Pool, now: datetime
) -> None:
    node = pool.nodes.get()
    builders.a_pod(builders.a_workload(None, pool, "stray", state=WorkloadState.RUNNING), node)
    leaving = builders.a_workload(
        Team.objects.get(slug="vision"), pool, "leaving", state=WorkloadState.STOPPING
    )
    builders.a_pod(leaving, node, stopping_at=now)
    tick = run(pool, now)
    assert (tick.state, tick.starts) == (TickState.DONE, 0)
    # Four GPUs: one runs, one is stray, one is leaving: a job of two finds one free.
    standing = Standing.objects.get(workload__name="fits")
    assert standing.detail["free_gpu_milli"] == 1000
    plan = planner.plan(freezing.freeze(cluster_id=pool.cluster_id, now=now).snapshot)
    assert {share.team for share in plan.shares} >= {"t0"}
    assert not Share.objects.filter(team_id=0).exists()


def test_a_policy_is_checked_by_the_engine_and_audited(pool: Pool, now: datetime) -> None:
    policy = services.set_policy(
        cluster_id=pool.cluster_id, rules={"order": "fifo"}, actor_id=5, now=now, seen_policy_id=0
    )
    assert policy.rules["order"] == "fifo"
    assert policy.rules["placement"] == "pack"
    assert "tick_seconds" not in policy.rules
    assert AuditEvent.objects.get().data == {"before": None, "after": policy.rules}
    assert run(pool, now).policy == policy
    with pytest.raises(Invalid) as refused:
        services.set_policy(
            cluster_id=pool.cluster_id, rules={"preemption": {"strategies": ["always"]}},
            actor_id=5, now=now,
        )  # fmt: skip
    assert refused.value.fields == {"preemption.strategies[0]": "must be one of final, initial"}
    with pytest.raises(Conflict):
        services.set_policy(
            cluster_id=pool.cluster_id, rules={}, actor_id=5, now=now, seen_policy_id=0
        )
    with pytest.raises(Missing):
        services.set_policy(cluster_id=0, rules={}, actor_id=5, now=now)
    assert Policy.objects.count() == 1


def test_a_tick_forgets_the_past_once_an_hour(pool: Pool, now: datetime) -> None:
    old = run(pool, now - timedelta(hours=30))
    Tick.objects.filter(pk=old.pk).update(starts=0)
    run(pool, now)
    assert Tick.objects.get(pk=old.pk).snapshot is None
