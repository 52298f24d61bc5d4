"""The replay: events in order, the published waits, and what a report says of a small log."""

import csv
import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import model
from scheduler_core.simulator import running, writing
from scheduler_core.simulator.counted import Ask, Shelf
from scheduler_core.simulator.events import Event, Events, Rank
from scheduler_core.simulator.log import Log, Spell
from scheduler_core.simulator.replay import Begin, Replay, Stop
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import Scenario, equal_nodes, scenario
from scheduler_core.simulator.usage import Usage
from scheduler_core.traces import READERS, Job

SAMPLE = Path(__file__).parent / "data" / "replay" / "philly_sample_5000.csv.gz"

# Mean wait and completion of the sample. Three independent programs (AccaSim, Tiresias' and PAI's
# simulators) agree on the pooled ones; "nodes" is a node of 8, the fullest that fits.
PUBLISHED = [
    ("1x512", "fifo", True, 418.25, 16_927.11),
    ("1x512", "fifo", False, 412.82, 16_921.68),
    ("1x512", "sjf", True, 247.07, 16_755.93),
    ("1x512", "sjf", False, 243.40, 16_752.26),
    ("64x8", "fifo", True, 834.73, 17_343.59),
    ("64x8", "fifo", False, 440.91, 16_949.77),
    ("64x8", "sjf", True, 494.13, 17_002.99),
    ("64x8", "sjf", False, 251.19, 16_760.06),
]


@cache
def sample() -> list[Job]:
    """Read the sample of 5,000 jobs."""
    with SAMPLE.open("rb") as stream:
        return list(READERS["philly"].jobs(stream))


def small(cluster: str, jobs: list[Job], **policy: object) -> Scenario:
    """Make a scenario without backfill."""
    told = replace(model.Policy(backfill="off"), **policy)  # type: ignore[arg-type]
    return scenario(jobs, equal_nodes(cluster), told)


@pytest.mark.parametrize(("cluster", "order", "head_blocks", "wait", "completion"), PUBLISHED)
def test_published_waits_are_met_to_the_hundredth(
    cluster: str, order: str, head_blocks: bool, wait: float, completion: float
) -> None:
    plan = small(cluster, sample(), order=order, head_blocks=head_blocks)
    figures = report(running.replay(plan))
    assert round(figures.wait_seconds.mean, 2) == wait
    assert round(figures.completion_seconds.mean, 2) == completion
    assert figures.makespan_seconds == 3_008_516
    assert figures.completed == 5_000


def test_strict_fifo_is_fifo_whose_head_blocks() -> None:
    one = running.replay(small("64x8", sample()[:900], order="fifo_strict"))
    other = running.replay(small("64x8", sample()[:900], order="fifo", head_blocks=True))
    assert one.started == other.started


def test_events_of_one_second_come_by_rank_and_then_by_arrival() -> None:
    events = Events()
    events.add_all([5, 5], Rank.ARRIVAL)
    events.add(5, Rank.END, 9)
    events.add(4, Rank.FAILURE, 0)
    order = [events.pop() for _ in range(4)]
    assert [(event.at, event.rank.name, event.subject) for event in order] == [
        (4, "FAILURE", 0),
        (5, "END", 9),
        (5, "ARRIVAL", 0),
        (5, "ARRIVAL", 1),
    ]
    assert events.next_time() is None


def test_devices_freed_in_a_second_serve_those_who_arrive_in_it() -> None:
    log = running.replay(small("1x8", [Job("a", 0, 10, 8000), Job("b", 10, 5, 8000)]))
    assert (log.started, log.finished) == ([0, 10], [10, 15])


def test_a_job_of_no_length_frees_its_devices_in_the_same_second() -> None:
    log = running.replay(small("1x8", [Job("a", 3, 0, 8000), Job("b", 3, 4, 8000)]))
    assert (log.started, log.finished) == ([3, 3], [3, 7])


def test_a_job_wider_than_a_node_takes_whole_nodes() -> None:
    plan = small("3x8", [Job("a", 0, 9, 12_000), Job("b", 0, 9, 1000), Job("c", 0, 9, 8000)])
    assert (plan.workloads[0].tasks, plan.workloads[0].per_task.gpu_milli) == (2, 8000)
    assert running.replay(plan).started == [0, 0, 9]


def test_jobs_without_an_end_or_beyond_the_cluster_are_left_out_and_counted() -> None:
    plan = small("2x8", [Job("a", 0, None, 1000), Job("b", 0, 9, 17_000), Job("c", 0, 9, 1000)])
    assert (plan.ids, plan.left_out, plan.never_fit) == (("c",), 1, 1)


@pytest.mark.parametrize("text", ["64", "0x8", "8x", "axb", "64x8x2", "-1x8"])
def test_a_cluster_is_written_nodes_times_gpus(text: str) -> None:
    with pytest.raises(ValueError, match="is no cluster"):
        equal_nodes(text)


def test_fair_share_serves_the_team_that_used_less() -> None:
    jobs = [Job(f"a{number}", 0, 10, 8000, team="a") for number in range(5)]
    jobs += [Job("b", 15, 10, 8000, team="b")]
    log = running.replay(small("1x8", jobs, order="fair_share"))
    assert log.started == [0, 10, 30, 40, 50, 20]


def test_the_fullest_node_that_fits_is_taken_first() -> None:
    shelf = Shelf([8, 8, 8])
    assert [shelf.take(5), shelf.take(3), shelf.take(4), shelf.take(4)] == [0, 0, 1, 1]
    shelf.give(0, 3)
    assert shelf.take(1) == 0
    assert shelf.holds(Ask(1, 8))
    assert not shelf.holds(Ask(2, 8))


def test_decayed_use_settles_at_what_constant_running_gives() -> None:
    usage = Usage(100, [0])
    usage.advance(0)
    usage.change(0, 1_000_000)
    usage.advance(5_000)
    assert usage.gpu_seconds() == [round(100 * 1000 / 0.693147)]
    usage.change(0, -1_000_000)
    usage.advance(5_100)
    assert usage.gpu_seconds() == [round(50 * 1000 / 0.693147)]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=8))
def test_many_small_steps_of_decay_equal_one_large_one(steps: list[int]) -> None:
    small_steps, one_step = Usage(300, [0]), Usage(300, [0])
    now = 0
    for usage in (small_steps, one_step):
        usage.advance(0)
        usage.change(0, 2_000_000)
    for step in steps:
        now += step
        small_steps.advance(now)
    one_step.advance(now)
    assert small_steps.gpu_seconds()[0] == pytest.approx(one_step.gpu_seconds()[0], abs=1)


class Preempts:
    """Starts everything at once and stops job 0 when job 1 arrives."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.done: list[int] = []

    def arrive(self, job: int) -> None:
        self.waiting.append(job)

    def finish(self, job: int) -> None:
        self.done.append(job)
        if job == 1:
            self.waiting.append(0)

    def happen(self, event: Event) -> list[Stop]:
        raise NotImplementedError(event)

    def decide(self, now: int) -> tuple[list[Begin], list[Stop]]:
        starts, self.waiting = self.waiting, []
        stops = [Stop(0, lost_seconds=3)] if 1 in starts else []
        return [Begin(job, 8000) for job in starts], stops


def test_a_preempted_job_does_its_lost_work_again() -> None:
    log = Log([0, 10], [20, 5], [8000, 8000], ["a", "b"], 8000)
    Replay(log, Preempts()).run()
    assert log.spells == [
        Spell(0, 0, 10, 8000, lost_seconds=3),
        Spell(1, 10, 15, 8000),
        Spell(0, 15, 28, 8000),
    ]
    assert (log.started, log.finished, log.preemptions) == ([0, 10], [28, 15], 1)
    figures = report(log)
    assert figures.lost_gpu_seconds == 24
    assert figures.allocated_pct == pytest.approx(100)
    assert figures.utilised_pct == pytest.approx(100 * 25 / 28)


def test_a_run_that_is_cut_counts_who_still_waits() -> None:
    jobs = [Job("a", 0, 100, 8000, team="x"), Job("b", 10, 100, 8000, team="y")]
    figures = report(running.replay(small("1x8", jobs), until=50))
    assert figures.completed == 0
    assert figures.wait_seconds.p99 == 40
    assert figures.completion_seconds.mean == 0
    assert figures.makespan_seconds == 50
    assert figures.stranded_pct == 0


def test_finish_time_fairness_compares_with_a_private_share() -> None:
    # Two jobs that each want the whole node and are always both there: a private half would take
    # twice as long, so the first to run does better than that and the second no worse.
    jobs = [Job("a", 0, 100, 8000, team="x"), Job("b", 0, 100, 8000, team="y")]
    rho = report(running.replay(small("1x8", jobs))).rho
    # The second lives 200 s, half of it with one contender and half with two: N = 1.5.
    assert rho.worst == pytest.approx(200 / 150)
    assert rho.mean == pytest.approx((100 / 200 + 200 / 150) / 2)
    assert rho.above_one_pct == 50


def test_jain_is_one_half_where_one_of_two_teams_gets_all() -> None:
    jobs = [Job("a", 0, 100, 8000, team="x"), Job("b", 0, 100, 8000, team="y")]
    assert report(running.replay(small("1x8", jobs), until=100)).jain == pytest.approx(0.5)


def test_free_gpus_that_waiting_work_cannot_use_are_stranded() -> None:
    jobs = [Job("a", 0, 100, 5000), Job("b", 0, 100, 5000), Job("c", 0, 100, 6000)]
    figures = report(running.replay(small("2x8", jobs), until=100))
    assert figures.stranded_pct == pytest.approx(100 * 6 / 16)


def test_a_report_is_written_as_json_and_csv() -> None:
    plan = small("64x8", sample()[:50])
    log = running.replay(plan)
    figures = report(log)
    document = writing.report_to_json(figures, "fifo", "pack", 0.5)
    assert {
        "order",
        "placement",
        "jobs",
        "wait_seconds",
        "completion_seconds",
        "makespan_seconds",
        "allocated_pct",
        "utilised_pct",
        "preemptions",
        "lost_gpu_seconds",
        "jain",
        "decisions",
        "cpu_seconds",
    } <= set(json.loads(json.dumps(document)))
    jobs, shares, summary = io.StringIO(), io.StringIO(), io.StringIO()
    writing.write_jobs(log, plan.ids, jobs)
    writing.write_shares(figures, shares)
    writing.write_summary([document], summary)
    rows = list(csv.DictReader(io.StringIO(jobs.getvalue())))
    assert (len(rows), rows[0]["job"], rows[0]["spells"]) == (50, plan.ids[0], "1")
    assert next(csv.DictReader(io.StringIO(summary.getvalue())))["wait_seconds.mean"] == "0.0"
    teams = {row["team"] for row in csv.DictReader(io.StringIO(shares.getvalue()))}
    assert teams == {job.team for job in sample()[:50]}


def test_fragmentation_is_free_gpu_of_no_use_to_the_usual_work() -> None:
    # Half of the time 3 of 8 GPUs are free: all of use to the job of one, none to that of five.
    jobs = [Job("a", 0, 100, 5000, team="x"), Job("b", 200, 0, 1000, team="x")]
    figures = report(running.replay(small("1x8", jobs)))
    assert figures.makespan_seconds == 200
    assert figures.fragmented_pct == pytest.approx(50 * 1.5 / 8)


def test_a_report_tells_each_team_apart() -> None:
    jobs = [Job("a", 0, 100, 8000, team="x"), Job("b", 0, 100, 8000, team="y")]
    figures = report(running.replay(small("1x8", jobs)))
    assert [(t.team, t.jobs, t.wait_seconds.mean, t.held_pct) for t in figures.teams] == [
        ("x", 1, 0, 50),
        ("y", 1, 100, 50),
    ]
