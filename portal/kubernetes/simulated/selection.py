"""Chooses the part of the public traces the demo runs on, the same each time.

    python -m portal.kubernetes.simulated.selection NODES.csv JOBS.csv.gz OUT

Nodes: the first so many of each model in the list. Jobs: five weeks of submissions, walked in
order of time. Each pool has a budget of GPU-seconds that grows evenly, at the rate of the wanted
load, and is never kept for more than a few days; a job is kept when its pool's budget covers half
of it, its team is not past its part of the pool by much, and jobs of its size are not past theirs.
Parts of sizes are small for small jobs, so that weeks of history stay some thousand jobs. Kept
rows are the original's, unchanged.
"""

import csv
import gzip
import io
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from portal.kubernetes.simulated import building, slices
from scheduler_core.traces import READERS, Job, Node

DAY = 86_400
FIRST_DAY, DAYS = 35, 35
NODES = {"T4": (4, 7), "V100M32": (8, 5), "G2": (8, 8)}
LOAD = {"t4": 0.95, "v100m32": 0.95, "g2": 0.97}
TEAM_PARTS = {"vision": 0.30, "speech": 0.21, "search": 0.22, "robotics": 0.15, "platform": 0.12}
SIZE_PARTS = {
    "t4": {1: 0.35, 2: 0.30},
    "v100m32": {1: 0.06, 2: 0.10, 8: 0.45, 16: 0.04},
    "g2": {1: 0.04, 2: 0.10, 8: 0.45, 16: 0.05},
}
SHORTEST, LONGEST = 1800, 3 * DAY
WIDEST = 16
TEAM_SLACK = 1.6
KEPT_DAYS = 5.0


@dataclass
class Budget:
    """GPU-seconds owed and kept of one pool, by team and by size too."""

    gpus: int
    load: float
    sizes: dict[int, float]
    lost: float = 0.0
    kept: float = 0.0
    kept_by: dict[str | int, float] = field(default_factory=lambda: defaultdict(float))

    def takes(self, job: Job, team: str, days: float) -> bool:
        """Whether a job is kept; if so it is charged."""
        rate, seconds, size = self.load * self.gpus * DAY, gpu_seconds(job), _size(job)
        owed = rate * days - self.lost
        self.lost += max(0.0, owed - self.kept - KEPT_DAYS * rate)
        owed = min(owed, self.kept + KEPT_DAYS * rate)
        part = rate * TEAM_PARTS[team] * TEAM_SLACK * _swell(team, days)
        past_size = size in self.sizes and self.kept_by[size] > self.sizes[size] * rate * days
        if owed - self.kept < seconds / 2 or self.kept_by[team] > part or past_size:
            return False
        self.kept += seconds
        self.kept_by[team] += seconds
        self.kept_by[size] += seconds
        return True


def _swell(team: str, days: float) -> float:
    """Days so far as this team counts them: its part swells and shrinks over the five weeks."""
    phase = 2 * math.pi * list(TEAM_PARTS).index(team) / len(TEAM_PARTS)
    turn = 2 * math.pi / DAYS
    return days + 0.45 * (math.sin(turn * days + phase) - math.sin(phase)) / turn


def choose_nodes(nodes: Iterable[Node]) -> list[Node]:
    """The first nodes of each wanted model and size."""
    left = {model: count for model, (_, count) in NODES.items()}
    chosen: list[Node] = []
    for node in nodes:
        size = NODES.get(node.gpu_model, (0, 0))[0]
        if size and node.gpus == size and left[node.gpu_model] > 0:
            left[node.gpu_model] -= 1
            chosen.append(node)
    return sorted(chosen, key=lambda node: list(NODES).index(node.gpu_model))


def choose_jobs(jobs: Iterable[Job], nodes: list[Node]) -> list[Job]:
    """The jobs whose budget covers them, in order of time."""
    known = building.pools(nodes)
    budgets = {
        name: Budget(sum(node.gpus for node in members), LOAD[name], SIZE_PARTS[name])
        for name, members in known.items()
    }
    teams = slices.teams()
    chosen: list[Job] = []
    for job in jobs:
        days = job.submitted_at / DAY - FIRST_DAY
        if job.team not in teams or not 0 <= days < DAYS or not _usual(job):
            continue
        pool = building.pool_of(job, known, slices.SEED)
        if budgets[pool].takes(job, teams[job.team], days):
            chosen.append(job)
    return chosen


def _size(job: Job) -> int:
    return job.gpu_milli // building.WHOLE_GPU


def _usual(job: Job) -> bool:
    return SHORTEST <= (job.duration_seconds or 0) <= LONGEST and 1 <= _size(job) <= WIDEST


def gpu_seconds(job: Job) -> int:
    """What a job asks of its pool: whole GPUs times the time it runs."""
    return _size(job) * (job.duration_seconds or 0)


def demand(jobs: list[Job], nodes: list[Node]) -> dict[str, dict[str, float]]:
    """What the jobs ask of each pool, in percent of its capacity: all in all and week by week."""
    known = building.pools(nodes)
    asked: dict[str, list[float]] = {name: [0.0] * (DAYS // 7) for name in known}
    for job in jobs:
        pool = building.pool_of(job, known, slices.SEED)
        asked[pool][(job.submitted_at // DAY - FIRST_DAY) // 7] += gpu_seconds(job)
    found: dict[str, dict[str, float]] = {}
    for name, weeks in asked.items():
        week = sum(node.gpus for node in known[name]) * 7 * DAY
        found[name] = {"all": round(100 * sum(weeks) / (week * len(weeks)), 1)}
        found[name] |= {f"week {n}": round(100 * w / week, 1) for n, w in enumerate(weeks, start=1)}
    return found


def write(nodes_file: Path, jobs_file: Path, out: Path) -> None:
    """Write the slices and what they measure."""
    with nodes_file.open("rb") as stream:
        nodes = choose_nodes(READERS["openb"].nodes(stream))
    with jobs_file.open("rb") as stream:
        jobs = choose_jobs(READERS["philly"].jobs(stream), nodes)
    _copy(nodes_file, out / "nodes.csv.gz", "sn", {node.name for node in nodes})
    _copy(jobs_file, out / "jobs.csv.gz", "job_id", {job.id for job in jobs})
    measured = {
        "nodes": len(nodes),
        "gpus": sum(node.gpus for node in nodes),
        "jobs": len(jobs),
        "demand_percent": demand(jobs, nodes),
    }
    (out / "measured.json").write_text(json.dumps(measured, indent=2) + "\n")


def _copy(source: Path, target: Path, column: str, wanted: set[str]) -> None:
    """Copy the wanted rows as they are, in their order."""
    opened = gzip.open if source.suffix == ".gz" else open
    text = io.StringIO()
    with opened(source, "rt", encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        writer = csv.DictWriter(text, list(reader.fieldnames or ()), lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in reader if row[column] in wanted)
    target.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:4]))
