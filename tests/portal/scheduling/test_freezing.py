"""A cluster's rows become exactly one snapshot, whatever the rows."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.inventory.models import MaintenanceWindow, NodeState, Pool
from portal.quotas.models import Quota
from portal.reservations.models import Reservation, ReservationState, Source
from portal.scheduling import freezing, recording
from portal.scheduling.models import Policy, Tick, TickState
from portal.teams.models import Team
from portal.usage.models import DecayedUse
from portal.workloads.models import Workload, WorkloadState
from scheduler_core import document
from tests import builders

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
MONDAY = 1793577600  # 2 November 2026, midnight UTC


def frozen_json(pool: Pool, now: datetime) -> dict[str, list[dict[str, object]]]:
    """The snapshot as its document, read back by the engine's own parser."""
    frozen = freezing.freeze(cluster_id=pool.cluster_id, now=now)
    text = recording.snapshot_bytes(frozen.snapshot)
    found: dict[str, list[dict[str, object]]] = json.loads(text)
    assert document.parse_snapshot(found) == frozen.snapshot
    return found


def a_reservation(team: Team, pool: Pool, starts_at: datetime, **columns: object) -> Reservation:
    return Reservation.objects.create(
        team=team, pool=pool, gpus=4, starts_at=starts_at, ends_at=starts_at + 2 * HOUR,
        planned_ends_at=starts_at + 2 * HOUR, zone="Asia/Seoul", created_at=starts_at, **columns,
    )  # fmt: skip


def test_a_small_organisation_freezes_into_exactly_this_snapshot(now: datetime) -> None:
    research = builders.a_team("research")
    vision = builders.a_team("vision", parent=research, weight=2)
    pool = builders.a_pool(nodes=2)
    first, second = pool.nodes.order_by("name")
    second.state = NodeState.CORDONED
    second.zone = "z1"
    second.taints = [{"key": "team", "value": "vision", "effect": "NoSchedule"}]
    second.save()
    quota = builders.a_quota(vision, pool, guaranteed=8, limit=16)
    Quota.objects.filter(pk=quota.pk).update(valid_to=now + HOUR)
    Quota.objects.create(
        team=vision, pool=pool, guaranteed=4, valid_from=now + HOUR, created_at=now
    )
    booked = a_reservation(vision, pool, now + HOUR, gpus_per_node=2, source=Source.GUARANTEE)
    MaintenanceWindow.objects.create(node=first, starts_at=now + HOUR, ends_at=now + 2 * HOUR)
    # 1000 GPU-seconds one half-life (a week) ago are 500 now.
    DecayedUse.objects.create(team=vision, gpu_seconds=1000, as_of=now - timedelta(days=7))
    minji = builders.a_user()
    runs = builders.a_workload(
        vision, pool, "runs", tasks=2, gpu_milli=2000, state=WorkloadState.RUNNING, user=minji,
        submitted_at=now - 3 * HOUR, save_seconds=30, restore_seconds=60, kind="training",
        last_saved_at=now - timedelta(minutes=5), duration_seconds=7200,
    )  # fmt: skip
    builders.a_pod(runs, first, scheduled_at=now - 2 * HOUR, devices=[[4, 1000], [5, 1000]])
    builders.a_pod(runs, first, scheduled_at=now - HOUR)
    waits = builders.a_workload(
        vision, pool, "waits", submitted_at=now - HOUR, person="hyun", reservation=booked,
        priority=3, min_tasks=1, preemptible=False,
    )  # fmt: skip
    builders.a_workload(vision, pool, "over", state=WorkloadState.SUCCEEDED)
    team, name = f"t{vision.pk}", f"p{pool.pk}"
    assert frozen_json(pool, now) == {
        "schema": 1,
        "now": MONDAY,
        "policy": {
            "order": "fair_share", "placement": "pack", "backfill": "conservative",
            "head_blocks": False, "hybrid": None, "usage_weight_k": 0,
            "half_life_seconds": 604800, "aging_seconds_per_point": 3600, "tick_seconds": 15,
            "seed": 0, "usage_capacity_milli": 8000,
            "preemption": {
                "enabled": False, "strategies": ["final"], "min_runtime_seconds": 0,
                "max_lost_gpu_seconds_per_cycle": None, "cost_gate": True,
            },
        },
        "teams": [
            {"name": f"t{research.pk}", "parent": None, "weight": 1, "priority": 0,
             "used_gpu_seconds": 0},
            {"name": team, "parent": f"t{research.pk}", "weight": 2, "priority": 0,
             "used_gpu_seconds": 500},
        ],
        "pools": [
            {"name": name, "sharing": "dedicated", "gpu_equivalent_milli": 1000,
             "topology_levels": []},
        ],
        "quotas": [
            {"team": team, "pool": name, "guaranteed": 8000, "limit": 16000,
             "borrowing_limit": None, "lending_limit": None, "weight": None,
             "per_user_limit": None, "valid_from": None, "valid_to": MONDAY + 3600},
            {"team": team, "pool": name, "guaranteed": 4000, "limit": None,
             "borrowing_limit": None, "lending_limit": None, "weight": None,
             "per_user_limit": None, "valid_from": MONDAY + 3600, "valid_to": None},
        ],
        "reservations": [
            {"id": f"r{booked.pk}", "team": team, "pool": name, "gpu_milli": 4000,
             "source": "guarantee", "gpus_per_node": 2, "starts_at": MONDAY + 3600,
             "ends_at": MONDAY + 10800},
        ],
        "maintenance": [
            {"node": "h100-0", "starts_at": MONDAY + 3600, "ends_at": MONDAY + 7200},
        ],
        "nodes": [
            {"name": "h100-0", "pool": name, "gpu_model": "H100", "gpu_memory_mib": 81559,
             "gpus": 8, "cpu_milli": 128000, "memory_mib": 1048576, "topology": [],
             "schedulable": True, "taints": [], "zone": None},
            {"name": "h100-1", "pool": name, "gpu_model": "H100", "gpu_memory_mib": 81559,
             "gpus": 8, "cpu_milli": 128000, "memory_mib": 1048576, "topology": [],
             "schedulable": False, "taints": ["team=vision"], "zone": "z1"},
        ],
        "workloads": [
            {"id": f"w{runs.pk}", "team": team, "user": f"u{minji.pk}", "pool": name,
             "reservation": None, "kind": "training", "priority": 0,
             "submitted_at": MONDAY - 10800, "tasks": 2,
             "per_task": {"gpu_milli": 2000, "cpu_milli": 4000, "memory_mib": 16384,
                          "gpu_memory_mib": None},
             "min_tasks": None, "gpu_models": [], "tolerations": [], "zone": None,
             "topology": None, "placement": None, "duration_seconds": 7200, "preemptible": True,
             "target_wait_seconds": None,
             "checkpoint": {"save_seconds": 30, "restore_seconds": 60,
                            "last_saved_at": MONDAY - 300},
             "running": {"started_at": MONDAY - 7200, "stopping_for": None, "placements": [
                 {"node": "h100-0", "tasks": 2,
                  "gpus": [[4, 1000], [5, 1000], [0, 1000], [1, 1000]]}]}},
            {"id": f"w{waits.pk}", "team": team, "user": f"x{waits.pk}", "pool": name,
             "reservation": f"r{booked.pk}", "kind": "batch", "priority": 3,
             "submitted_at": MONDAY - 3600, "tasks": 1,
             "per_task": {"gpu_milli": 1000, "cpu_milli": 4000, "memory_mib": 16384,
                          "gpu_memory_mib": None},
             "min_tasks": 1, "gpu_models": [], "tolerations": [], "zone": None,
             "topology": None, "placement": None, "duration_seconds": None, "preemptible": False,
             "target_wait_seconds": None, "checkpoint": None, "running": None},
        ],
    }  # fmt: skip


def test_the_same_rows_give_the_same_bytes(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=2)
    builders.a_quota(team, pool)
    for number in range(4):
        job = builders.a_workload(team, pool, f"job-{number}", state=WorkloadState.RUNNING)
        builders.a_pod(job, pool.nodes.all()[number % 2])
    seen = {
        recording.snapshot_bytes(freezing.freeze(cluster_id=pool.cluster_id, now=now).snapshot)
        for _ in range(2)
    }
    assert len(seen) == 1


def test_work_of_no_team_holds_its_devices_in_a_hidden_team(now: datetime) -> None:
    pool = builders.a_pool(nodes=1)
    stray = builders.a_workload(None, pool, "stray", state=WorkloadState.RUNNING)
    builders.a_pod(stray, pool.nodes.get())
    builders.a_workload(None, pool, "stray-waiting")
    found = frozen_json(pool, now)
    assert [(t["name"], t["weight"]) for t in found["teams"]] == [("t0", 0)]
    (work,) = found["workloads"]
    assert (work["id"], work["team"], work["preemptible"]) == (f"w{stray.pk}", "t0", False)


def test_a_node_with_more_pods_than_devices_takes_nothing_new(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1, gpus=4)
    for name in ("one", "two"):
        job = builders.a_workload(team, pool, name, gpu_milli=3000, state=WorkloadState.RUNNING)
        builders.a_pod(job, pool.nodes.get())
    frozen = freezing.freeze(cluster_id=pool.cluster_id, now=now)
    assert [node.schedulable for node in frozen.snapshot.nodes] == [False]
    assert [work.tasks for work in frozen.snapshot.workloads] == [1]
    assert "h100-0" in frozen.notes[0]
    assert "1 open workloads" in frozen.notes[1]


def test_devices_the_cluster_names_twice_are_assigned_anew(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    job = builders.a_workload(team, pool, tasks=2, state=WorkloadState.RUNNING)
    for _ in range(2):
        builders.a_pod(job, pool.nodes.get(), devices=[[3, 1000]])
    (work,) = frozen_json(pool, now)["workloads"]
    assert work["running"]["placements"][0]["gpus"] == [[3, 1000], [0, 1000]]  # type: ignore[index]


def test_pods_of_unequal_size_are_counted_in_their_common_unit(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    job = builders.a_workload(team, pool, tasks=3, gpu_milli=2000, state=WorkloadState.RUNNING)
    for milli in (0, 2000, 4000):
        builders.a_pod(job, pool.nodes.get(), gpu_milli=milli)
    (work,) = frozen_json(pool, now)["workloads"]
    # 6 GPUs in units of 2 are 3 tasks; three pods of 4000 millicores are as many a task.
    assert work["tasks"] == 3
    assert work["per_task"] == {
        "gpu_milli": 2000, "cpu_milli": 4000, "memory_mib": 16384, "gpu_memory_mib": None,
    }  # fmt: skip


def test_a_workload_in_two_pools_becomes_two_parts(now: datetime) -> None:
    team = builders.a_team()
    big, small = builders.a_pool("h100", nodes=1), builders.a_pool("a100", nodes=1)
    job = builders.a_workload(team, small, tasks=3, state=WorkloadState.RUNNING)
    builders.a_pod(job, small.nodes.get())
    builders.a_pod(job, big.nodes.get())
    builders.a_pod(job, big.nodes.get())
    main, lesser = frozen_json(big, now)["workloads"]
    assert (main["id"], main["pool"]) == (f"w{job.pk}", f"p{big.pk}")
    assert (lesser["id"], lesser["pool"]) == (f"w{job.pk}.p{small.pk}", f"p{small.pk}")
    assert (main["preemptible"], lesser["preemptible"]) == (True, False)


def test_a_job_on_its_way_out_keeps_its_devices_and_is_nobodys_use(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    job = builders.a_workload(team, pool, state=WorkloadState.STOPPING)
    builders.a_pod(job, pool.nodes.get(), stopping_at=now)
    (work,) = frozen_json(pool, now)["workloads"]
    assert work["running"]["stopping_for"] == f"w{job.pk}"  # type: ignore[index]


def test_a_job_said_to_run_that_holds_nothing_is_not_started_again(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    builders.a_workload(team, pool, state=WorkloadState.RUNNING)
    assert frozen_json(pool, now)["workloads"] == []


def test_an_unknown_duration_becomes_what_nine_in_ten_of_the_teams_jobs_took(
    now: datetime,
) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=1)
    begun = now - timedelta(days=1)
    for minutes in range(10, 110, 10):  # ten jobs of 10 to 100 minutes: the ninth took 90
        builders.a_workload(
            team, pool, f"done-{minutes}", state=WorkloadState.SUCCEEDED, scheduled_at=begun,
            ended_at=begun + timedelta(minutes=minutes),
        )  # fmt: skip
    builders.a_workload(team, pool, "unknown")
    builders.a_workload(builders.a_team("speech"), pool, "of-others")
    durations = [w["duration_seconds"] for w in frozen_json(pool, now)["workloads"]]
    assert durations == [5400, None]


def test_strange_terms_never_make_a_snapshot_the_engine_refuses(now: datetime) -> None:
    vision, speech = builders.a_team(), builders.a_team("speech")
    pool, other = builders.a_pool(nodes=1), builders.a_pool("a100", builders.a_cluster("far"))
    Quota.objects.create(  # overlaps the next, and ends within the second it begins in
        team=vision, pool=pool, guaranteed=2, valid_from=now - HOUR, created_at=now
    )
    booked = a_reservation(speech, pool, now - HOUR, state=ReservationState.ACTIVE)
    builders.a_workload(vision, pool, "not-theirs", reservation=booked)
    builders.a_workload(vision, other, "elsewhere", pool_id=other.pk)
    builders.a_workload(vision, pool, "huge", tasks=10**9, gpu_milli=1500, priority=2**31 - 1)
    found = frozen_json(pool, now)
    assert [(w["reservation"], w["tasks"]) for w in found["workloads"]] == [
        (None, 1),
        (None, 10**6),
    ]


def test_of_two_quotas_at_one_moment_the_later_begun_counts(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool()
    old = builders.a_quota(team, pool, guaranteed=2)
    Quota.objects.filter(pk=old.pk).update(valid_to=now + HOUR)
    Quota.objects.create(team=team, pool=pool, guaranteed=3, valid_from=now, created_at=now)
    assert [(q["guaranteed"], q["valid_to"]) for q in frozen_json(pool, now)["quotas"]] == [
        (3000, None)
    ]


def test_the_policy_row_that_has_begun_counts_with_the_time_since_the_last_tick(
    now: datetime,
) -> None:
    pool = builders.a_pool(nodes=1)
    Policy.objects.create(cluster=pool.cluster, rules={"order": "fifo"}, valid_from=now - HOUR)
    Policy.objects.create(cluster=pool.cluster, rules={"order": "sjf"}, valid_from=now + HOUR)
    Tick.objects.create(
        cluster=pool.cluster, at=now - timedelta(seconds=90), state=TickState.DONE,
        started_real_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    policy = freezing.freeze(cluster_id=pool.cluster_id, now=now).snapshot.policy
    assert (policy.order, policy.tick_seconds) == ("fifo", 90)


def test_freezing_asks_as_many_questions_of_many_rows_as_of_few(now: datetime) -> None:
    team, pool = builders.a_team(), builders.a_pool(nodes=2, gpus=64)
    counts: list[int] = []
    for batch in range(2):
        for number in range(1 + 20 * batch):
            job = builders.a_workload(
                team, pool, f"r-{batch}-{number}", state=WorkloadState.RUNNING
            )
            builders.a_pod(job, pool.nodes.first())
            builders.a_workload(team, pool, f"w-{batch}-{number}")
        with CaptureQueriesContext(connection) as asked:
            freezing.freeze(cluster_id=pool.cluster_id, now=now)
        counts.append(len(asked))
    assert Workload.objects.count() == 44
    assert counts[0] == counts[1] <= 19


def test_a_hybrid_placement_goes_on_in_the_mode_of_the_last_tick(now: datetime) -> None:
    pool = builders.a_pool(nodes=1)
    rules = {"hybrid": {"high": 0.7, "low": 0.6, "min_dwell_seconds": 900}}
    Policy.objects.create(cluster=pool.cluster, rules=rules, valid_from=now - HOUR)
    for minutes, mode in ((40, "spread"), (30, "pack"), (20, "spread"), (10, "spread")):
        Tick.objects.create(
            cluster=pool.cluster, at=now - timedelta(minutes=minutes), state=TickState.DONE,
            placement_mode=mode, started_real_at=now,
        )  # fmt: skip
    hybrid = freezing.freeze(cluster_id=pool.cluster_id, now=now).snapshot.policy.hybrid
    assert hybrid is not None
    assert (hybrid.mode, hybrid.since) == ("spread", MONDAY - 20 * 60)


def test_a_pools_own_taint_keeps_no_device_pod_away(now: datetime) -> None:
    pool = builders.a_pool(nodes=1)
    node = pool.nodes.get()
    node.taints = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "spot", "effect": "PreferNoSchedule"},
        {"key": "down", "effect": "NoExecute"},
    ]
    node.save()
    (frozen,) = freezing.freeze(cluster_id=pool.cluster_id, now=now).snapshot.nodes
    assert frozen.taints == ("down",)
