"""Reclaim keeps its promises: guarantees come back, nobody flaps, protected work stays."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.model import (
    Checkpoint,
    PerTask,
    Plan,
    Policy,
    Preemption,
    Quota,
    Snapshot,
    Workload,
)
from scheduler_core.planner import plan
from scheduler_core.testing import NOW, after, node, running, snapshot, snapshots, waiting

FINAL = Policy(order="priority", backfill="off", preemption=Preemption(cost_gate=False))


def only_gpus(one: Snapshot) -> Snapshot:
    """Return the snapshot with work that asks for nothing but GPUs, which quotas are about."""
    work = (replace(each, per_task=PerTask(each.per_task.gpu_milli)) for each in one.workloads)
    return replace(one, workloads=tuple(work))


def preempted(answer: Plan) -> list[str]:
    return [entry.workload for entry in answer.preemptions]


def policies() -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        order=st.sampled_from(
            ["fifo", "priority", "fair_share", "drf", "fair_tree", "satisfaction"]
        ),
        placement=st.sampled_from(["pack", "spread"]),
        backfill=st.sampled_from(["off", "conservative", "easy"]),
        preemption=st.builds(Preemption, cost_gate=st.booleans()),
    )


@settings(max_examples=200, deadline=None)
@given(snapshots(policies()).map(only_gpus))
def test_once_victims_had_their_turn_the_same_cycle_changes_nothing(one: Snapshot) -> None:
    second = after(one, plan(one))
    third = after(second, plan(second))
    answer = plan(third)
    assert not answer.preemptions
    assert not answer.starts


@settings(max_examples=60, deadline=None)
@given(snapshots(policies()))
def test_it_comes_to_rest_whatever_else_work_asks_for(one: Snapshot) -> None:
    """Work that is short of CPU or memory may need a cycle or two more to find its place."""
    for _ in range(6):
        one = after(one, plan(one))
    answer = plan(one)
    assert not answer.preemptions
    assert not answer.starts


def test_who_holds_no_gpu_is_not_taken_if_the_guarantee_let_it_claim_its_place_back() -> None:
    """The large one fits only without both others, of which the aide is within a guarantee."""
    held = [
        asking(running("owner", "b", "n", [0], priority=1), 6),
        asking(running("borrower", "b", "n", [1, 2]), 1),
        asking(running("aide", "b", "n", []), 1),
    ]
    large = asking(waiting("large", "a", 2000), 2)
    nodes = [node("n", 4, memory_mib=8)]
    answer = plan(snapshot(nodes, {"a": 0, "b": 1000}, [*held, large], policy=FINAL))
    assert not answer.preemptions
    assert not answer.starts


def asking(workload: Workload, memory_mib: int) -> Workload:
    return replace(workload, per_task=PerTask(workload.per_task.gpu_milli, 1, memory_mib))


@given(snapshots(policies()))
def test_protected_and_non_preemptible_work_is_never_a_victim(one: Snapshot) -> None:
    policy = replace(one.policy, preemption=Preemption(min_runtime_seconds=300))
    one = replace(one, policy=policy)
    workloads = {workload.id: workload for workload in one.workloads}
    for name in preempted(plan(one)):
        victim = workloads[name]
        assert victim.preemptible
        assert victim.running is not None
        assert one.now - victim.running.started_at >= 300


@given(snapshots(policies()))
def test_nothing_is_preempted_for_nothing(one: Snapshot) -> None:
    answer = plan(one)
    starts = {start.workload: start.after for start in answer.starts}
    for entry in answer.preemptions:
        assert entry.workload in starts[entry.for_]


class TestAGuarantee:
    def test_comes_back_from_those_who_borrow(self) -> None:
        lent = [running(f"b{number}", "b", "n", [number]) for number in range(8)]
        answer = plan(
            snapshot(
                [node("n")], {"a": 4000, "b": 4000}, [*lent, waiting("w", "a", 4000)], policy=FINAL
            )
        )
        assert preempted(answer) == ["b0", "b1", "b2", "b3"]
        assert answer.starts[0].after == ("b0", "b1", "b2", "b3")

    @given(st.permutations(range(8)), st.integers(1, 4))
    def test_always_comes_back_if_it_fits_the_nodes(self, order: list[int], asked: int) -> None:
        lent = [running(f"b{number}", "b", "n", [number]) for number in order]
        one = snapshot(
            [node("n")],
            {"a": 4000, "b": 4000},
            [*lent, waiting("w", "a", asked * 1000)],
            policy=FINAL,
        )
        answer = plan(one)
        assert [start.workload for start in answer.starts] == ["w"]
        assert len(answer.preemptions) == asked

    def test_takes_least_lost_work_first(self) -> None:
        saved = Checkpoint(save_seconds=10, restore_seconds=20, last_saved_at=NOW - 5)
        lent = [
            running("long", "b", "n", [0, 1], since=NOW - 7200),
            running("saved", "b", "n", [2, 3], since=NOW - 7200, checkpoint=saved),
        ]
        answer = plan(
            snapshot(
                [node("n", 4)], {"a": 2000, "b": 0}, [*lent, waiting("w", "a", 2000)], policy=FINAL
            )
        )
        assert preempted(answer) == ["saved"]
        assert answer.preemptions[0].lost_gpu_seconds == 2 * 35

    def test_takes_a_gang_only_down_to_its_minimum(self) -> None:
        gang = replace(
            running("g", "b", "n", [0, 1, 2, 3]),
            tasks=4,
            min_tasks=2,
            per_task=waiting("x", "b").per_task,
        )
        assert gang.running is not None
        placed = replace(gang.running.placements[0], tasks=4)
        gang = replace(gang, running=replace(gang.running, placements=(placed,)))
        answer = plan(
            snapshot(
                [node("n", 4)], {"a": 2000, "b": 0}, [gang, waiting("w", "a", 2000)], policy=FINAL
            )
        )
        (entry,) = answer.preemptions
        assert (entry.workload, entry.tasks) == ("g", 2)
        assert [charge.workload for charge in answer.running] == ["g"]

    def test_undoes_a_start_of_the_same_cycle_without_loss(self) -> None:
        work = [waiting("first", "b", 4000, priority=1), waiting("w", "a", 4000)]
        answer = plan(snapshot([node("n", 4)], {"a": 4000, "b": 0}, work, policy=FINAL))
        assert [start.workload for start in answer.starts] == ["w"]
        assert not answer.preemptions
        (left,) = answer.waiting
        assert "evicted" in (left.reason, *left.detail["also"])  # type: ignore[misc]


class TestTheCostGate:
    def test_says_cost_and_benefit_when_it_is_not_worth_it(self) -> None:
        policy = Policy(order="priority", preemption=Preemption())
        lent = [
            running("b0", "b", "n", [0, 1], since=NOW - 3600, duration_seconds=3660),
            running("b1", "b", "n", [2, 3], since=NOW - 3600, duration_seconds=3660),
        ]
        answer = plan(
            snapshot(
                [node("n", 4)], {"a": 0, "b": 0}, [*lent, waiting("w", "a", 2000)], policy=policy
            )
        )
        assert not answer.preemptions
        (left,) = answer.waiting
        assert left.planned_start == NOW + 60
        assert "not_worth_preempting" in (left.reason, *left.detail["also"])  # type: ignore[misc]


def test_same_team_gives_way_only_to_higher_priority_the_order_puts_ahead() -> None:
    old = running("old", "a", "n", [0, 1], submitted_at=NOW - 600)
    one = snapshot(
        [node("n", 2)], {"a": 2000}, [old, waiting("w", "a", 2000, priority=1)], policy=FINAL
    )
    assert preempted(plan(one)) == ["old"]
    fifo = replace(one, policy=replace(FINAL, order="fifo"))
    assert preempted(plan(fifo)) == []


def test_what_is_stopping_keeps_its_devices_for_whom_it_stops() -> None:
    held = running("v", "b", "n", [0, 1])
    assert held.running is not None
    stopping = replace(held, running=replace(held.running, stopping_for="w"))
    work = [stopping, waiting("other", "c", 2000, priority=9), waiting("w", "a", 2000)]
    answer = plan(snapshot([node("n", 2)], {"a": 2000, "b": 0, "c": 0}, work, policy=FINAL))
    assert [(start.workload, start.after) for start in answer.starts] == [("w", ("v",))]
    assert not answer.running


def test_a_limit_is_no_reason_to_take_from_others() -> None:
    lent = [running("b0", "b", "n", [0, 1])]
    one = snapshot(
        [node("n", 2)], {"a": 2000, "b": 0}, [*lent, waiting("w", "a", 2000)], policy=FINAL
    )
    capped = replace(one, quotas=(Quota("a", "p", 1000, limit=1000), Quota("b", "p", 0)))
    assert not plan(capped).preemptions


def test_a_gang_started_in_this_cycle_is_undone_whole_not_shrunk() -> None:
    elastic = waiting("gang", "a", tasks=8, min_tasks=4, priority=1)
    owner = waiting("owner", "b", gpu_milli=3000)
    answer = plan(snapshot([node("n0")], {"a": 0, "b": 6000}, [elastic, owner], policy=FINAL))
    assert [start.workload for start in answer.starts] == ["owner"]
    assert [entry.workload for entry in answer.waiting] == ["gang"]
    assert answer.preemptions == ()
