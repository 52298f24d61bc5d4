"""What-if: the replay that begins with what runs and waits now."""

from dataclasses import replace

import pytest

from scheduler_core import model
from scheduler_core.simulator.log import NEVER
from scheduler_core.simulator.report import report
from scheduler_core.simulator.whatif import what_if

NODE = model.Node("n", "p", 8, 8_000, 8_000)
ALL = tuple((device, 1000) for device in range(8))


def work(name: str, duration: int | None, team: str = "a", submitted: int = 0) -> model.Workload:
    """Return waiting work for the whole node."""
    ask = model.PerTask(8_000, 0, 0)
    return model.Workload(name, team, submitted, 1, ask, duration_seconds=duration)


def run_since(one: model.Workload, moment: int, stopping_for: str | None = None) -> model.Workload:
    """Return the work as running on the node."""
    placement = model.Placement("n", 1, ALL)
    return replace(one, running=model.Running(moment, (placement,), stopping_for))


def snapshot(order: str, *workloads: model.Workload) -> model.Snapshot:
    """Return the node at 1,000 s with two teams."""
    return model.Snapshot(
        now=1000,
        policy=model.Policy(order=order, backfill="off"),
        teams=(model.Team("a", used_gpu_seconds=10_000), model.Team("b")),
        pools=(model.Pool("p"),),
        quotas=(model.Quota("a", "p", 0), model.Quota("b", "p", 0)),
        nodes=(NODE,),
        workloads=workloads,
    )


def test_running_work_ends_when_announced_and_the_queue_follows() -> None:
    log = what_if(snapshot("fifo", run_since(work("r", 500), 900), work("w1", 50), work("w2", 30)))
    assert log.started == [900, 1400, 1450]
    assert log.finished == [1400, 1450, 1480]


def test_another_order_gives_another_future() -> None:
    given = snapshot("fifo", run_since(work("r", 500), 900), work("w1", 50), work("w2", 30, "b"))
    by_share = replace(given, policy=replace(given.policy, order="fair_share"))
    assert what_if(given).started[1:] == [1400, 1450]
    assert what_if(by_share).started[1:] == [1430, 1400]


def test_what_waits_starts_at_once_where_there_is_room() -> None:
    assert what_if(snapshot("fifo", work("w1", 50), work("w2", 50))).started == [1000, 1050]


@pytest.mark.parametrize("duration", [None, 50])
def test_work_whose_end_nobody_knows_does_not_end(duration: int | None) -> None:
    log = what_if(snapshot("fifo", run_since(work("r", duration), 900), work("w", 5)))
    assert (log.finished, log.started) == ([NEVER, NEVER], [900, NEVER])


def test_work_that_was_being_stopped_waits_for_what_is_left_of_it() -> None:
    leaving = run_since(work("r", 300, submitted=1), 900, stopping_for="w")
    log = what_if(snapshot("fifo", leaving, work("w", 50)))
    assert log.started == [1050, 1000]
    assert log.finished == [1250, 1050]


def test_figures_count_from_the_moment_of_the_snapshot() -> None:
    figures = report(what_if(snapshot("fifo", run_since(work("r", 500), 900)), until=1200))
    assert (figures.makespan_seconds, figures.allocated_pct) == (200, 100)


def test_a_reservation_that_opens_later_is_an_event() -> None:
    given = snapshot("fifo", work("w", 50, "b"))
    given = replace(given, maintenance=(model.Maintenance("n", 900, 1300),))
    assert what_if(given).started == [1300]
