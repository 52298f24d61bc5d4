"""`manage.py replay`: traces and our own past, in our cluster or on other nodes."""

import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from portal.inventory.models import Pool
from portal.scheduling import exporting
from portal.teams.models import Team
from portal.workloads.models import StageEvent, Workload, WorkloadState
from scheduler_core import cli
from scheduler_core.traces import READERS, Job
from tests import builders

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
TRACE = "job_id,submit_s,duration_s,num_gpus,vc\n1,0,600,8,a\n2,0,60,8,b\n3,0,60,16,b\n"


@pytest.fixture
def pool() -> Pool:
    return builders.a_pool(nodes=1)


@pytest.fixture
def team(pool: Pool) -> Team:
    team = builders.a_team()
    builders.a_quota(team, pool, guaranteed=4, limit=6)
    return team


def ended(
    team: Team, pool: Pool, name: str, at: datetime, stages: list[tuple[int, str]], **columns: Any
) -> Workload:
    """A job submitted at an instant that reached stages so many minutes later, ending with the
    last of them."""
    begun = next((m for m, state in stages if state == WorkloadState.RUNNING), None)
    job = builders.a_workload(
        team, pool, name, submitted_at=at, state=stages[-1][1],
        scheduled_at=None if begun is None else at + begun * MINUTE,
        ended_at=at + stages[-1][0] * MINUTE, **columns,
    )  # fmt: skip
    for minutes, state in stages:
        StageEvent.objects.create(workload=job, at=at + minutes * MINUTE, state=state)
    return job


def run(*arguments: str) -> tuple[str, str]:
    """What goes to standard output and to standard error."""
    out, err = io.StringIO(), io.StringIO()
    call_command("replay", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def trace(tmp_path: Path) -> list[str]:
    (tmp_path / "jobs.csv").write_text(TRACE)
    return ["--trace", "philly", "--workloads", str(tmp_path / "jobs.csv")]


def test_our_past_leaves_with_opaque_names_and_the_time_each_ran(
    pool: Pool, team: Team, now: datetime
) -> None:
    stopped = ended(
        team, pool, "llm-sft", now, [(5, "running"), (15, "waiting"), (20, "running"), (50, "failed")],
        tasks=2, min_tasks=1, person="minji", duration_seconds=3600, save_seconds=30, priority=3,
    )  # fmt: skip
    cancelled = ended(team, pool, "never", now + MINUTE, [(9, "cancelled")], preemptible=False)
    ended(team, pool, "later", now + 60 * MINUTE, [(1, "running"), (2, "succeeded")])
    jobs = exporting.history(cluster_id=pool.cluster_id, from_at=now, to_at=now + 60 * MINUTE)
    common: Any = {
        "team": f"t{team.pk}",
        "pool": f"p{pool.pk}",
        "cpu_milli": 4000,
        "memory_mib": 16384,
    }
    at = int(now.timestamp())
    assert jobs == [
        Job(
            f"w{stopped.pk}", at, 2400, 1000, tasks=2, user=f"x{stopped.pk}", estimate_seconds=3600,
            waited_seconds=300, priority=3, min_tasks=1, save_seconds=30, **common,
        ),
        Job(f"w{cancelled.pk}", at + 60, None, 1000, preemptible=False, **common),
    ]  # fmt: skip


def test_the_exported_files_are_replayed_by_the_engine_alone(
    pool: Pool, team: Team, now: datetime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended(team, pool, "one", now, [(0, "running"), (10, "succeeded")], gpu_milli=8000)
    ended(team, pool, "two", now, [(10, "running"), (20, "succeeded")], gpu_milli=8000)
    folder = str(tmp_path / "out")
    _, err = run("--history", "2026-11-01", "2026-11-03", "--export", folder)
    assert err == f"2 jobs and 1 nodes written to {folder}\n"
    with (tmp_path / "out" / "jobs.csv").open("rb") as stream:
        assert len(list(READERS["evenshare"].jobs(stream))) == 2
    files = ["--workloads", f"{folder}/jobs.csv", "--nodes", f"{folder}/nodes.csv"]
    assert cli.main(["replay", "--trace", "evenshare", *files, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert (answer["jobs"], answer["makespan_seconds"]) == (2, 1200)


def test_our_past_is_replayed_in_our_cluster_under_its_own_policy_and_quotas(
    pool: Pool, team: Team, now: datetime
) -> None:
    for number in range(2):
        ended(team, pool, f"j{number}", now, [(0, "running"), (10, "succeeded")], gpu_milli=4000)
    out, err = run("--history", "2026-11-02", "2026-11-03", "--json")
    (answer,) = json.loads(out)
    # Eight GPUs are free, yet the team may have six of them: one after the other.
    assert (answer["order"], answer["makespan_seconds"]) == ("fair_share", 1200)
    assert err.endswith("1 fair_share pack: done, 2 jobs ended\n")


def test_a_foreign_trace_in_our_cluster_borrows_what_nobody_uses(
    pool: Pool, team: Team, trace: list[str]
) -> None:
    out, _ = run(*trace, "--order", "fifo", "--order", "sjf", "--json")
    found = [(a["order"], a["completed"], a["never_fit"], a["wait_seconds"]["mean"])
             for a in json.loads(out)]  # fmt: skip
    assert found == [("fifo", 2, 1, 300), ("sjf", 2, 1, 30)]


def test_without_a_cluster_of_ours_nodes_are_named(trace: list[str]) -> None:
    out, err = run(*trace, "--cluster", "2x8", "--order", "fifo")
    assert out.splitlines()[1].split()[:3] == ["fifo", "pack", "3"]
    assert err == "1 fifo pack: done, 3 jobs ended\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--order", "fifo"], "name --trace and --workloads, or a period of our own"),
        (["--history", "monday", "2026-11-03"], "--history: 'monday' is no date or time"),
        (["--history", "2026-11-03", "2026-11-03"], "the period must end after it begins"),
        (["--history", "2026-11-01", "2026-11-03"], "there are no jobs"),
        (["--export", "out"], "--export needs a cluster and a period of --history"),
        (["--of", "moon"], "there is no cluster moon"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_line(
    pool: Pool, arguments: list[str], why: str
) -> None:
    with pytest.raises(CommandError, match=why) as refused:
        run(*arguments)
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)
