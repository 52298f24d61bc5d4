"""One cycle of the engine, and the forecast, on a busy cluster."""

import json
from functools import partial
from typing import Any

from scheduler_core import document, planner
from scheduler_core.simulator.forecast import forecast
from tests.benchmarks import cycle
from tests.benchmarks.rows import Bench, Done, watching

RATIOS = {"": [0.2, 0.5, 0.8, 1.0, 1.0, 1.2]}
"""What announced durations were worth: usually too long, now and then too short."""


def _parsed(waiting: int, teams: int) -> Any:
    return json.loads(json.dumps(cycle.build(waiting, teams)))


def _cycle(waiting: int, teams: int, goal: str) -> Done:
    parsed = _parsed(waiting, teams)
    with watching() as watch:
        plan = planner.plan(document.parse_snapshot(parsed))
    planned = sum(entry.planned_start is not None for entry in plan.waiting)
    found = f"{len(plan.starts)} start, {len(plan.waiting):,} wait, {planned:,} planned"
    return Done(watch.seconds, waiting, found, goal)


def _forecast() -> Done:
    snapshot = document.parse_snapshot(_parsed(10_000, 200))
    with watching() as watch:
        found = forecast(snapshot, RATIOS)
    sure = sum(outlook.p90 is not None for outlook in found.values())
    return Done(watch.seconds, len(found), f"{sure:,} of {len(found):,} with a p90", "under 5 s")


BENCHES: dict[str, Bench] = {
    "cycle: 10,000 waiting, 3,000 running, 200 teams, 1,300 nodes": partial(
        _cycle, 10_000, 200, "under 0.5 s"
    ),
    "cycle: 50,000 waiting, 3,000 running, 1,000 teams, 1,300 nodes": partial(
        _cycle, 50_000, 1000, "under 2 s"
    ),
    "forecast of all 10,000 waiting": _forecast,
}
