"""Traces replayed: the placement study, the Philly sample, and the whole of Philly."""

import gzip
import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from scheduler_core import model
from scheduler_core.simulator import running, study
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import equal_nodes, scenario
from scheduler_core.traces import READERS, Job
from tests.benchmarks.rows import Bench, Done, watching

HERE = Path(__file__).parent
DATA = HERE.parent / "scheduler_core" / "data"
SAMPLE = DATA / "replay" / "philly_sample_5000.csv.gz"
FULL = HERE / "data" / "philly_jobs_full.csv.gz"


def jobs_of(path: Path) -> list[Job]:
    """Read a Philly file."""
    return list(READERS["philly"].jobs(io.BytesIO(path.read_bytes())))


def pooled(order: str = "fifo_strict", cluster: str = "1x512") -> Done:
    """The sample, as papers on peers had it: reading is not counted, reporting is."""
    jobs = jobs_of(SAMPLE)
    policy = model.Policy(order=order, backfill="off")
    seconds, decisions, wait = _replay(jobs, cluster, policy)
    speed = f"{len(jobs) / seconds:,.0f} jobs/s, wait {wait:.2f} s"
    return Done(seconds, decisions, speed, "over 20,000 jobs/s")


def _study(name: str) -> Done:
    jobs = list(READERS["openb"].jobs(_bytes("fgd/pods_default.csv.gz")))
    nodes = list(READERS["openb"].nodes(_bytes("fgd/nodes.csv.gz")))
    arrivals, ranks = _rows("fgd/seed42_arrivals.txt.gz"), _rows("fgd/seed42_nodes.txt.gz")
    with watching() as watch:
        outcome = study.study(jobs, nodes, study.POLICIES[name], arrivals, ranks)
    found = f"{outcome.at(100).allocated_pct:.2f} % allocated at 100 %"
    goal = "under 1.5 s" if name == "fgd" else ""
    return Done(watch.seconds, len(arrivals), found, goal)


def _whole(times: int) -> Done:
    """All of Philly, or as much again behind it: teams are its virtual clusters."""
    jobs = jobs_of(FULL)
    span = max(job.submitted_at for job in jobs) + 1
    again = [
        replace(job, submitted_at=job.submitted_at + round_ * span)
        for round_ in range(times)
        for job in jobs
    ]
    policy = model.Policy(order="fair_share", backfill="off")
    seconds, decisions, wait = _replay(again, "64x8", policy)
    goal = "under 20 s" if times == 1 else "twice the time of one"
    return Done(seconds, decisions, f"{len(again):,} jobs, wait {wait:,.0f} s", goal)


def _replay(jobs: Sequence[Job], cluster: str, policy: model.Policy) -> tuple[float, int, float]:
    with watching() as watch:
        figures = report(running.replay(scenario(jobs, equal_nodes(cluster), policy)))
    return watch.seconds, figures.decisions, figures.wait_seconds.mean


def _bytes(name: str) -> io.BytesIO:
    return io.BytesIO((DATA / name).read_bytes())


def _rows(name: str) -> list[int]:
    return [int(line) for line in gzip.decompress((DATA / name).read_bytes()).split()]


BENCHES: dict[str, Bench] = {
    **{
        f"openb with {name} to 130 % load, 1,213 nodes": partial(_study, name)
        for name in study.POLICIES
    },
    "philly_sample_5000, fifo_strict, pooled 1x512": pooled,
    "philly_sample_5000, fifo_strict, 64x8": partial(pooled, cluster="64x8"),
    "philly_jobs_full, fair_share + pack, 64x8": partial(_whole, 1),
    "philly_jobs_full twice over, the same": partial(_whole, 2),
}
