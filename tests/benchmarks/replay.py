"""How fast traces are replayed, in CPU seconds of one core."""

import gzip
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from scheduler_core import model
from scheduler_core.simulator import running, study
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import equal_nodes, scenario
from scheduler_core.traces import READERS, Job

DATA = Path(__file__).parents[1] / "scheduler_core" / "data"
SAMPLE_SPAN = 278_640
"""Seconds over which the sample was submitted, rounded up to whole minutes."""


def measure() -> Iterator[tuple[str, str]]:
    """Yield (what was done, how fast beside the goal)."""
    yield from _study()
    yield from _pooled()
    yield from _long()


def _study() -> Iterator[tuple[str, str]]:
    jobs = list(READERS["openb"].jobs(_bytes("fgd/pods_default.csv.gz")))
    nodes = list(READERS["openb"].nodes(_bytes("fgd/nodes.csv.gz")))
    arrivals, ranks = _rows("fgd/seed42_arrivals.txt.gz"), _rows("fgd/seed42_nodes.txt.gz")
    for name, make in study.POLICIES.items():
        begun = time.process_time()
        study.study(jobs, nodes, make, arrivals, ranks)
        spent = time.process_time() - begun
        goal = ", goal 1.5 s" if name == "fgd" else ""
        yield f"openb to 130 % load, {name}", f"{spent:.2f} s{goal}"


def _pooled() -> Iterator[tuple[str, str]]:
    jobs = _sample()
    for cluster in ("1x512", "64x8"):
        spent, wait = _replay(jobs, cluster, model.Policy(order="fifo_strict", backfill="off"))
        speed = f"{len(jobs) / spent:,.0f} jobs/s (mean wait {wait:.2f} s), goal 20,000"
        yield f"Philly sample, fifo_strict, {cluster}", speed


def _long() -> Iterator[tuple[str, str]]:
    """Replay the sample over and over at three times its load, so that long queues build up."""
    policy = model.Policy(order="fair_share", backfill="off")
    for times in (8, 16):
        jobs = [
            replace(job, submitted_at=job.submitted_at // 3 + round_ * SAMPLE_SPAN // 3)
            for round_ in range(times)
            for job in _sample()
        ]
        spent, wait = _replay(jobs, "64x8", policy)
        yield (
            f"{len(jobs):,} jobs at three times the load, fair_share, 64x8",
            f"{spent:.2f} s (mean wait {wait:,.0f} s), goal 20 s for 82,247, and linear",
        )


def _replay(jobs: Sequence[Job], cluster: str, policy: model.Policy) -> tuple[float, float]:
    begun = time.process_time()
    figures = report(running.replay(scenario(jobs, equal_nodes(cluster), policy)))
    return time.process_time() - begun, figures.wait_seconds.mean


def _sample() -> list[Job]:
    return list(READERS["philly"].jobs(_bytes("replay/philly_sample_5000.csv.gz")))


def _bytes(name: str) -> io.BytesIO:
    return io.BytesIO((DATA / name).read_bytes())


def _rows(name: str) -> list[int]:
    return [int(line) for line in gzip.decompress((DATA / name).read_bytes()).split()]
