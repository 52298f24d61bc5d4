"""The scoring policies inside the planner: they choose by score and take only what is free."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import model, planner
from scheduler_core.placement.scored import SCORINGS


def snapshot(
    policy: model.Policy, nodes: list[model.Node], workloads: list[model.Workload]
) -> model.Snapshot:
    """Return one shared pool in which one team may borrow everything."""
    return model.Snapshot(
        now=100,
        policy=policy,
        teams=(model.Team("a"),),
        pools=(model.Pool("p", sharing="shared"),),
        quotas=(model.Quota("a", "p", 0),),
        nodes=tuple(nodes),
        workloads=tuple(workloads),
    )


def node(name: str, gpus: int, cpu: int = 64_000, model_name: str | None = None) -> model.Node:
    """Return a node with memory enough."""
    return model.Node(name, "p", gpus, cpu, 1 << 20, gpu_model=model_name)


def work(name: str, gpu_milli: int, tasks: int = 1, cpu: int = 1000) -> model.Workload:
    """Return waiting work of the team."""
    return model.Workload(name, "a", 0, tasks, model.PerTask(gpu_milli, cpu, 0))


def places(plan: model.Plan) -> dict[str, list[tuple[str, int]]]:
    """Return the nodes and tasks of what starts."""
    return {
        start.workload: [(place.node, place.tasks) for place in start.placements]
        for start in plan.starts
    }


def run_on(one: model.Workload, where: str, gpus: tuple[tuple[int, int], ...]) -> model.Workload:
    """Return the work as running on devices of one node."""
    placement = model.Placement(where, one.tasks, gpus)
    return model.Workload(
        one.id, one.team, 0, one.tasks, one.per_task, running=model.Running(0, (placement,))
    )


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        # n1 has 300 free on a device in use and 7 free ones, n2 is idle, n3 has two devices.
        ("best_fit", "n3"),
        ("gpu_packing", "n1"),
        ("gpu_clustering", "n1"),
        ("dot_product", "n3"),
    ],
)
def test_each_policy_takes_the_node_its_rule_names(placement: str, expected: str) -> None:
    nodes = [node("n1", 8), node("n2", 8), node("n3", 2)]
    busy = run_on(work("busy", 700), "n1", ((0, 700),))
    plan = planner.plan(snapshot(model.Policy(placement=placement), nodes, [busy, work("w", 300)]))
    assert places(plan) == {"w": [(expected, 1)]}


def test_fgd_keeps_whole_devices_whole_for_those_who_need_them() -> None:
    nodes = [node("n1", 1), node("n2", 1)]
    busy = run_on(work("busy", 500), "n2", ((0, 500),))
    waiting = [work("whole", 1000), work("half", 500)]
    plan = planner.plan(snapshot(model.Policy(placement="fgd"), nodes, [busy, *waiting]))
    assert places(plan) == {"half": [("n2", 1)], "whole": [("n1", 1)]}


def test_a_gang_is_placed_task_by_task_and_listed_once_a_node() -> None:
    nodes = [node("n1", 4), node("n2", 8)]
    plan = planner.plan(
        snapshot(model.Policy(placement="best_fit"), nodes, [work("gang", 1000, tasks=6)])
    )
    assert places(plan) == {"gang": [("n1", 4), ("n2", 2)]}


def test_random_placement_repeats_for_the_same_snapshot_and_changes_with_the_seed() -> None:
    nodes = [node(f"n{number}", 8) for number in range(50)]
    waiting = [work(f"w{number}", 1000) for number in range(20)]
    plans = [
        places(planner.plan(snapshot(model.Policy(placement="random", seed=seed), nodes, waiting)))
        for seed in (1, 1, 2)
    ]
    assert plans[0] == plans[1] != plans[2]


asks = st.lists(
    st.tuples(
        st.sampled_from([0, 100, 250, 500, 700, 1000, 2000, 4000]),
        st.integers(1, 5),
        st.integers(0, 8),
    ),
    max_size=12,
)


@given(asks, st.lists(st.integers(0, 8), min_size=1, max_size=5))
@pytest.mark.parametrize("placement", SCORINGS)
def test_no_policy_gives_more_than_a_node_has(
    placement: str, asked: list[tuple[int, int, int]], sizes: list[int]
) -> None:
    nodes = [node(f"n{number}", size, 8_000) for number, size in enumerate(sizes)]
    waiting = [
        work(f"w{number}", milli, tasks, cores * 1000)
        for number, (milli, tasks, cores) in enumerate(asked)
    ]
    plan = planner.plan(snapshot(model.Policy(placement=placement), nodes, waiting))
    devices: Counter[tuple[str, int]] = Counter()
    cpu: Counter[str] = Counter()
    by_id = {one.id: one for one in waiting}
    for start in plan.starts:
        one = by_id[start.workload]
        assert sum(place.tasks for place in start.placements) == one.tasks
        for place in start.placements:
            cpu[place.node] += place.tasks * one.per_task.cpu_milli
            held = 0
            for device, milli in place.gpus:
                devices[place.node, device] += milli
                held += milli
            assert held == place.tasks * one.per_task.gpu_milli
    assert max(devices.values(), default=0) <= 1000
    assert max(cpu.values(), default=0) <= 8_000
    assert plan == planner.plan(snapshot(model.Policy(placement=placement), nodes, waiting))
