"""Dominant resource fairness, with the paper's own example."""

from dataclasses import replace

import pytest

from scheduler_core.model import PerTask, Policy
from scheduler_core.planner import plan
from scheduler_core.testing import NOW, node, snapshot, waiting

ASKS = {"A": PerTask(0, 1000, 4096), "B": PerTask(0, 3000, 1024)}


def paper(count: int) -> list[str]:
    """Return whose task is started, in order, when each user queues `count`."""
    work = [
        waiting(f"{team}{number}", team, submitted_at=NOW - 100 + number)
        for team in ASKS
        for number in range(count)
    ]
    work = [replace(one, per_task=ASKS[one.team]) for one in work]
    answer = plan(
        snapshot(
            [node("n", 0, cpu_milli=9000, memory_mib=18_432)],
            {"A": 0, "B": 0},
            work,
            policy=Policy(order="drf", backfill="off"),
        )
    )
    return [start.workload[0] for start in answer.starts]


@pytest.mark.parametrize("count", [3, 9])
def test_the_papers_example_step_by_step(count: int) -> None:
    assert paper(count) == ["A", "B", "A", "B", "A"]
