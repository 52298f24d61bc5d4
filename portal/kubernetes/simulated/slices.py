"""The committed part of the traces, and the demo's cluster made of it.

Where it comes from, under which licence and how much it asks stands in `data/README.md`; how it
was chosen in `selection`.
"""

import csv
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path

from portal.kubernetes.simulated.building import Plan
from portal.kubernetes.simulated.workshop import Rules
from scheduler_core.traces import READERS, Job, Node

SEED = 20170904
DATA = Path(__file__).parent / "data"
PERIOD_SECONDS = 35 * 86_400
MEAN_NODE_LIFE = 45 * 86_400
# The trace begins with its last week, so that its busiest one is the third: the demo's present.
TURNED_SECONDS = 7 * 86_400


@cache
def teams() -> dict[str, str]:
    """The demo team of each virtual cluster."""
    return {row["vc"]: row["team"] for row in _rows("teams.csv")}


@cache
def people() -> dict[str, tuple[str, ...]]:
    """Who works in each demo team, by user name."""
    found: dict[str, tuple[str, ...]] = {}
    for row in _rows("people.csv"):
        found[row["team"]] = (*found.get(row["team"], ()), row["username"])
    return found


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def nodes() -> list[Node]:
    """The demo's machines."""
    with (DATA / "nodes.csv.gz").open("rb") as stream:
        return list(READERS["openb"].nodes(stream))


def jobs() -> list[Job]:
    """The demo's jobs."""
    with (DATA / "jobs.csv.gz").open("rb") as stream:
        return list(READERS["philly"].jobs(stream))


def turned(trace: list[Job]) -> list[Job]:
    """The jobs in the same order round the circle, begun at another point of it."""
    first = min(job.submitted_at for job in trace)
    at = [(job.submitted_at - first + TURNED_SECONDS) % PERIOD_SECONDS for job in trace]
    return [replace(job, submitted_at=moment) for job, moment in zip(trace, at, strict=True)]


def demo(starts_at: datetime, *, seed: int = SEED) -> Plan:
    """The demo's cluster, its trace beginning at `starts_at` and repeated for ever."""
    rules = Rules(
        seed=seed, starts_at=int(starts_at.timestamp()), repeat_seconds=PERIOD_SECONDS,
        mean_node_life=MEAN_NODE_LIFE,
    )  # fmt: skip
    return Plan(
        nodes=tuple(nodes()), jobs=tuple(turned(jobs())), rules=rules,
        namespace_of=lambda job: teams()[job.team], people=people(),
    )  # fmt: skip
