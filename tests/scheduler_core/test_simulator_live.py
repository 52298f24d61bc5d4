"""The planner inside the replay: the kept state is the state built anew, and counting agrees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import model, planner
from scheduler_core.model import Preemption
from scheduler_core.scratch import State
from scheduler_core.simulator import running
from scheduler_core.simulator.events import Event, Rank
from scheduler_core.simulator.live import Live, edges
from scheduler_core.simulator.log import Spell
from scheduler_core.simulator.replay import Replay
from scheduler_core.simulator.report import report
from scheduler_core.simulator.scenario import equal_nodes, scenario
from scheduler_core.traces import Job, Node

jobs = st.lists(
    st.builds(
        lambda at, long, gpus, team, priority, estimate: Job(
            f"{at}-{gpus}",
            at,
            long,
            gpus * 1000,
            team=team,
            priority=priority,
            estimate_seconds=estimate,
        ),
        st.integers(0, 60),
        st.integers(0, 40),
        st.sampled_from([1, 1, 2, 4, 8, 16]),
        st.sampled_from("abc"),
        st.integers(0, 2),
        st.one_of(st.none(), st.integers(1, 40)),
    ),
    min_size=1,
    max_size=25,
)
policies = st.builds(
    lambda order, head_blocks: model.Policy(
        order=order, head_blocks=head_blocks, backfill="off", half_life_seconds=50
    ),
    st.sampled_from(sorted(running.COUNTED_KEYS)),
    st.booleans(),
)


@given(jobs, policies, st.sampled_from(["2x8", "1x16", "3x8"]))
def test_counting_starts_what_the_planner_starts(
    some: list[Job], policy: model.Policy, cluster: str
) -> None:
    plan = scenario(some, equal_nodes(cluster), policy)
    assert running.can_be_counted(plan)
    by_counting = Replay(running.log_of(plan), running.counted(plan)).run()
    by_planning = Replay(running.log_of(plan), running.planned(plan)).run()
    assert by_counting.started == by_planning.started
    assert sorted(by_counting.spells) == sorted(by_planning.spells)
    counted, planned = report(by_counting), report(by_planning)
    assert counted.fragmented_pct == pytest.approx(planned.fragmented_pct)


def assert_same(kept: State, anew: State) -> None:
    """Compare all that decisions depend on."""
    for name in ("devices", "whole", "gpu_free", "cpu_free", "memory_free", "usable"):
        assert np.array_equal(getattr(kept.nodes, name), getattr(anew.nodes, name)), name
    for mine, theirs in zip(kept.books, anew.books, strict=True):
        assert (mine.own, mine.below, mine.firm) == (theirs.own, theirs.below, theirs.firm)
        assert {who: milli for who, milli in mine.people.items() if milli} == theirs.people
    assert (kept.now, kept.used, kept.holds) == (anew.now, anew.used, anew.holds)
    assert kept.waiting == anew.waiting
    assert kept.running == anew.running


def sorted_plan(plan: model.Plan) -> model.Plan:
    """Return the plan with what runs by id: listed as the state happens to hold it."""
    return replace(plan, running=tuple(sorted(plan.running, key=lambda one: one.workload)))


class Checked(Live):
    """Compares the kept state, and the plan made of it, with those built anew, at each step."""

    def _advance(self, now: int) -> None:
        super()._advance(now)
        anew = State(self.snapshot())
        assert_same(self.state, anew)
        assert sorted_plan(planner.decide(self.state)) == sorted_plan(planner.plan(self.snapshot()))


@given(
    jobs,
    st.sampled_from(model.ORDERS),
    st.sampled_from(model.PLACEMENT_NAMES),
    st.sampled_from(["off", "easy", "conservative"]),
)
def test_a_state_after_events_equals_the_state_built_anew(
    some: list[Job], order: str, placement: str, backfill: str
) -> None:
    policy = model.Policy(
        order=order,
        placement=placement,
        backfill=backfill,
        half_life_seconds=50,
        preemption=Preemption(enabled=True, min_runtime_seconds=5),
    )
    plan = scenario(some, equal_nodes("2x8"), policy)
    log = Replay(running.log_of(plan), Checked(plan.snapshot, plan.workloads)).run()
    assert min(log.finished) >= 0


@given(
    jobs,
    st.lists(st.tuples(st.integers(0, 90), st.integers(1, 30), st.integers(0, 2)), max_size=4),
    st.sampled_from(["off", "conservative"]),
    st.booleans(),
)
def test_the_same_holds_when_nodes_fail_and_gangs_shrink(
    some: list[Job], outages: list[tuple[int, int, int]], backfill: str, elastic: bool
) -> None:
    policy = model.Policy(
        order="priority", backfill=backfill, half_life_seconds=50,
        preemption=Preemption(enabled=True, cost_gate=False),
    )  # fmt: skip
    plan = scenario(some, equal_nodes("3x8"), policy)
    quotas = tuple(
        model.Quota(team.name, "trace", guaranteed)
        for team, guaranteed in zip(plan.snapshot.teams, (0, 8000, 16_000), strict=False)
    )
    gangs = tuple(_as_gang(one) if elastic else one for one in plan.workloads)
    others = [
        Event(at, rank, 0, node)
        for begins, long, node in outages
        for at, rank in ((begins, Rank.FAILURE), (begins + long, Rank.REPAIR))
    ]
    decider = Checked(replace(plan.snapshot, quotas=quotas), gangs)
    log = Replay(running.log_of(plan), decider, others).run()
    assert min(log.finished) >= 0
    held = [sum(milli for _, milli in part.devices) for parts in log.held for part in parts]
    assert sum(held) == sum(spell.gpu_milli for spell in log.spells)


def _as_gang(one: model.Workload) -> model.Workload:
    """Return the same ask as tasks of one device, of which one will do."""
    tasks = one.gpu_milli // 1000
    return replace(one, tasks=tasks, min_tasks=1, per_task=model.PerTask(1000, 0, 0))


def test_a_gang_that_makes_room_shrinks_and_runs_on() -> None:
    some = [Job("a", 0, 100, 8000, team="a"), Job("b", 30, 50, 4000, team="b")]
    policy = model.Policy(order="fifo", backfill="off", preemption=Preemption(enabled=True))
    plan = scenario(some, equal_nodes("1x8"), policy)
    gang = replace(_as_gang(plan.workloads[0]), min_tasks=4)
    quotas = (model.Quota("a", "trace", 0), model.Quota("b", "trace", 4000))
    base = replace(plan.snapshot, quotas=quotas)
    log = Replay(running.log_of(plan), Checked(base, (gang, plan.workloads[1]))).run()
    assert sorted(log.spells) == [
        Spell(0, 0, 30, 4000, lost_seconds=30),
        Spell(0, 0, 100, 4000),
        Spell(1, 30, 80, 4000),
    ]
    assert (log.started, log.finished) == ([0, 30], [100, 80])


def test_an_owner_who_was_wrong_leaves_the_end_unknown() -> None:
    some = [Job("a", 0, 100, 8000, estimate_seconds=10), Job("b", 20, 5, 8000)]
    plan = scenario(some, equal_nodes("1x8"), model.Policy(order="fifo"))
    log = Replay(running.log_of(plan), Checked(plan.snapshot, plan.workloads)).run()
    assert log.started == [0, 100]


def test_shares_of_devices_go_through_the_planner() -> None:
    some = [Job("a", 0, 10, 600), Job("b", 0, 10, 600), Job("c", 0, 10, 400)]
    plan = scenario(some, [Node("n", 1, 8000, 8000)], model.Policy(order="fifo", backfill="off"))
    assert not running.can_be_counted(plan)
    assert running.replay(plan).started == [0, 10, 0]


def test_a_failed_node_stops_its_work_and_serves_again_after_repair() -> None:
    some = [Job("a", 0, 50, 8000)]
    plan = scenario(some, equal_nodes("1x8"), model.Policy(order="fifo"))
    failure, repair = Event(20, Rank.FAILURE, 0, 0), Event(30, Rank.REPAIR, 0, 0)
    decider = Checked(plan.snapshot, plan.workloads)
    log = Replay(running.log_of(plan), decider, [failure, repair]).run()
    assert [(spell.start, spell.end, spell.lost_seconds) for spell in log.spells] == [
        (0, 20, 20),
        (30, 80, 0),
    ]


def test_borrowed_work_goes_when_the_lender_comes_and_resumes_afterwards() -> None:
    some = [Job("a", 0, 100, 8000, team="a"), Job("b", 30, 50, 8000, team="b")]
    policy = model.Policy(order="fifo", backfill="off", preemption=Preemption(enabled=True))
    plan = scenario(some, equal_nodes("1x8"), policy)
    quotas = (model.Quota("a", "trace", 0), model.Quota("b", "trace", 8000))
    base = replace(plan.snapshot, quotas=quotas)
    log = Replay(running.log_of(plan), Checked(base, plan.workloads)).run()
    assert sorted(log.spells) == [
        Spell(0, 0, 30, 8000, lost_seconds=30),
        Spell(0, 80, 180, 8000),
        Spell(1, 30, 80, 8000),
    ]
    assert log.preemptions == 1


def test_a_reservation_that_opens_takes_back_what_was_borrowed() -> None:
    some = [Job("a", 0, 100, 8000, team="a"), Job("b", 30, 50, 8000, team="b")]
    policy = model.Policy(order="fifo", backfill="off", preemption=Preemption(enabled=True))
    plan = scenario(some, equal_nodes("1x8"), policy)
    held = model.Reservation("r", "b", "trace", 8000, starts_at=40, ends_at=200)
    base = replace(plan.snapshot, reservations=(held,))
    saves = replace(plan.workloads[0], checkpoint=model.Checkpoint(save_seconds=5))
    decider = Checked(base, (saves, plan.workloads[1]))
    log = Replay(running.log_of(plan), decider, edges(base)).run()
    assert (log.started, log.preemptions) == ([0, 40], 1)


def test_edges_are_the_later_moments_at_which_terms_change() -> None:
    snapshot = model.Snapshot(
        now=10,
        teams=(model.Team("a"),),
        pools=(model.Pool("p"),),
        quotas=(model.Quota("a", "p", 0, valid_to=40),),
        maintenance=(model.Maintenance("n", 5, 30),),
        nodes=(model.Node("n", "p", 8, 0, 0),),
    )
    assert [event.at for event in edges(snapshot)] == [30, 40]


@pytest.mark.parametrize("order", ["fifo", "fair_share"])
def test_the_planner_starts_each_job_once_and_all_of_them(order: str) -> None:
    some = [Job(f"j{number}", number % 7, 9, 1000 * (1 + number % 8)) for number in range(60)]
    plan = scenario(some, equal_nodes("2x8"), model.Policy(order=order, backfill="off"))
    log = Replay(running.log_of(plan), running.planned(plan)).run()
    assert len(log.spells) == 60
