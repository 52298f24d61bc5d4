"""A busy cluster as rows, and one tick of it in its parts; see `portal_cycle`."""

import cProfile
import pstats
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.db.models import Model

from portal.inventory.models import Cluster, GPUModel, Node, Pool
from portal.quotas.models import Quota
from portal.scheduling import freezing, recording
from portal.scheduling.recording import Cycle
from portal.teams.models import Team, TeamTerm, User
from portal.usage.models import DecayedUse
from portal.workloads.models import Pod, Workload, WorkloadState
from scheduler_core import planner
from tests.benchmarks import cycle as engine

NOW = datetime.fromtimestamp(engine.NOW, UTC)
LONG_AGO = NOW - timedelta(days=300)
PERIOD = timedelta(seconds=15)


def fill(waiting: int, teams: int, nodes: int, running: int) -> Cluster:
    """Write the engine's benchmark as rows."""
    document = engine.build(waiting, teams, nodes=nodes, running=running)
    cluster = Cluster.objects.create(
        name="bench", kind="simulated", created_at=LONG_AGO, seen_real_at=NOW, seen_at=NOW
    )
    model = GPUModel.objects.create(name="H100-80GB", memory_mib=81_559)
    pool = Pool.objects.create(
        cluster=cluster, name="p", gpu_model=model, topology_levels=["rack"], created_at=LONG_AGO
    )
    team_ids = _teams(document)
    _quotas(document, team_ids, pool)
    node_ids = _nodes(document, pool)
    _workloads(document, team_ids, node_ids, pool)
    return cluster


def _saved(model: type[Model], rows: list[Any]) -> list[Any]:
    return list(model._default_manager.bulk_create(rows, batch_size=2000))


def _teams(document: dict[str, Any]) -> dict[str, int]:
    rows = _saved(
        Team, [Team(slug=t["name"], name=t["name"], created_at=LONG_AGO) for t in document["teams"]]
    )
    ids = {row.slug: row.pk for row in rows}
    _saved(
        TeamTerm,
        [
            TeamTerm(
                team_id=ids[t["name"]], parent_id=ids.get(t.get("parent", "")),
                weight=t.get("weight", 1), valid_from=LONG_AGO,
            )
            for t in document["teams"]
        ],
    )  # fmt: skip
    _saved(
        DecayedUse,
        [
            DecayedUse(team_id=ids[t["name"]], gpu_seconds=t["used_gpu_seconds"], as_of=NOW)
            for t in document["teams"] if "used_gpu_seconds" in t
        ],
    )  # fmt: skip
    return ids


def _quotas(document: dict[str, Any], team_ids: dict[str, int], pool: Pool) -> None:
    _saved(
        Quota,
        [
            Quota(
                team_id=team_ids[q["team"]], pool=pool, guaranteed=q["guaranteed"] // 1000,
                limit=None if q["limit"] is None else q["limit"] // 1000, valid_from=LONG_AGO,
                created_at=LONG_AGO,
            )
            for q in document["quotas"]
        ],
    )  # fmt: skip


def _nodes(document: dict[str, Any], pool: Pool) -> dict[str, int]:
    rows = _saved(
        Node,
        [
            Node(
                cluster_id=pool.cluster_id, pool=pool, name=n["name"], gpus=n["gpus"],
                cpu_milli=n["cpu_milli"], memory_mib=n["memory_mib"], topology=n["topology"],
                first_seen_at=LONG_AGO,
            )
            for n in document["nodes"]
        ],
    )  # fmt: skip
    return {row.name: row.pk for row in rows}


def _workloads(
    document: dict[str, Any], team_ids: dict[str, int], node_ids: dict[str, int], pool: Pool
) -> None:
    people = _saved(
        User,
        [User(username=name) for name in sorted({w["user"] for w in document["workloads"]})],
    )
    user_ids = {row.username: row.pk for row in people}
    rows = _saved(Workload, [_workload(w, team_ids, user_ids, pool) for w in document["workloads"]])
    pods = [
        Pod(
            workload=row, uid=f"pod-{row.uid}", name=row.uid,
            node_id=node_ids[placed["node"]], gpu_milli=row.gpu_milli, cpu_milli=row.cpu_milli,
            memory_mib=row.memory_mib, devices=placed["gpus"], created_at=row.submitted_at,
            scheduled_at=row.scheduled_at, seen_at=NOW,
        )
        for row, work in zip(rows, document["workloads"], strict=True) if work["running"]
        for placed in work["running"]["placements"]
    ]  # fmt: skip
    _saved(Pod, pods)


def _workload(
    work: dict[str, Any], team_ids: dict[str, int], user_ids: dict[str, int], pool: Pool
) -> Workload:
    task, runs = work["per_task"], work["running"]
    begun = datetime.fromtimestamp(runs["started_at"], UTC) if runs else None
    return Workload(
        cluster_id=pool.cluster_id, uid=work["id"], name=work["id"], namespace=work["team"],
        team_id=team_ids[work["team"]], user_id=user_ids[work["user"]], pool=pool,
        tasks=work["tasks"], gpu_milli=task["gpu_milli"], cpu_milli=task["cpu_milli"],
        memory_mib=task["memory_mib"], duration_seconds=work["duration_seconds"],
        preemptible=work["preemptible"], priority=work.get("priority", 0),
        submitted_at=datetime.fromtimestamp(work["submitted_at"], UTC), scheduled_at=begun,
        state=WorkloadState.RUNNING if runs else WorkloadState.WAITING, seen_at=NOW,
        save_seconds=30 if runs else None, restore_seconds=60 if runs else None,
    )  # fmt: skip


def arrivals(pool: Pool, team_ids: list[int], number: int, now: datetime) -> None:
    """A little changes between two ticks, as it does."""
    draw = Random(number)
    for one in range(20):
        Workload.objects.create(
            cluster_id=pool.cluster_id, uid=f"new-{number}-{one}", name=f"new-{number}-{one}",
            namespace="n", team_id=draw.choice(team_ids), pool=pool, tasks=1,
            gpu_milli=1000 * draw.choice([1, 2, 4]), cpu_milli=4000, memory_mib=32_768,
            submitted_at=now, seen_at=now, duration_seconds=3600,
        )  # fmt: skip


def run(cluster: Cluster, number: int, profile: str) -> dict[str, float]:
    """Run one tick in its parts; gives the seconds of each."""
    now = NOW + number * PERIOD
    seconds: dict[str, float] = {}
    with _timed(seconds, "freeze", profile):
        frozen = freezing.freeze(cluster_id=cluster.pk, now=now)
    with _timed(seconds, "plan", profile):
        plan = planner.plan(frozen.snapshot)
    with _timed(seconds, "record", profile):
        recording.record(Cycle(cluster.pk, now, now, lease=None, took_ms=0), frozen, plan)
    return seconds


@contextmanager
def _timed(seconds: dict[str, float], part: str, profile: str) -> Iterator[None]:
    watch = cProfile.Profile() if profile == part else None
    begun = time.perf_counter()
    if watch:
        watch.enable()
    yield
    if watch:
        watch.disable()
        pstats.Stats(watch, stream=sys.stdout).sort_stats("cumulative").print_stats(45)
    seconds[part] = time.perf_counter() - begun
