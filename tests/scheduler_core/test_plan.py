"""Properties every plan has, whatever the snapshot."""

import json
from collections import defaultdict

from hypothesis import given

from scheduler_core import document
from scheduler_core.explain import REASONS
from scheduler_core.model import Placement, Plan, Snapshot, Workload
from scheduler_core.planner import plan
from scheduler_core.resources import DEVICE
from scheduler_core.testing import after, snapshots


def placements(one: Snapshot, answer: Plan) -> list[tuple[Workload, Placement]]:
    """Return where everything stands once the plan is carried out."""
    return [
        (workload, placement)
        for workload in after(one, answer).workloads
        if workload.running is not None
        for placement in workload.running.placements
    ]


@given(snapshots())
def test_a_plan_never_grants_more_than_is_free(one: Snapshot) -> None:
    answer = plan(one)
    devices: dict[tuple[str, int], int] = defaultdict(int)
    cpu: dict[str, int] = defaultdict(int)
    memory: dict[str, int] = defaultdict(int)
    for workload, placement in placements(one, answer):
        assert sum(milli for _, milli in placement.gpus) == (
            placement.tasks * workload.per_task.gpu_milli
        )
        cpu[placement.node] += placement.tasks * workload.per_task.cpu_milli
        memory[placement.node] += placement.tasks * workload.per_task.memory_mib
        for device, milli in placement.gpus:
            devices[placement.node, device] += milli
    nodes = {node.name: node for node in one.nodes}
    for (name, device), milli in devices.items():
        assert device < nodes[name].gpus
        assert milli <= DEVICE
    for name, node in nodes.items():
        assert cpu[name] <= node.cpu_milli
        assert memory[name] <= node.memory_mib


@given(snapshots())
def test_a_task_of_whole_gpus_gets_whole_devices_and_a_fraction_a_single_one(one: Snapshot) -> None:
    workloads = {workload.id: workload for workload in one.workloads}
    pools = {pool.name: pool for pool in one.pools}
    pool_of = {node.name: pools[node.pool] for node in one.nodes}
    for start in plan(one).starts:
        milli = workloads[start.workload].per_task.gpu_milli
        for placement in start.placements:
            if milli >= DEVICE:
                assert {held for _, held in placement.gpus} == {DEVICE}
            elif milli:
                assert pool_of[placement.node].sharing == "shared"
                assert all(held % milli == 0 for _, held in placement.gpus)


@given(snapshots())
def test_the_same_snapshot_gives_the_same_plan_byte_for_byte(one: Snapshot) -> None:
    first, second = (json.dumps(document.plan_to_json(plan(one))) for _ in range(2))
    assert first == second


@given(snapshots())
def test_a_start_keeps_the_limits_of_its_team_and_of_every_ancestor(one: Snapshot) -> None:
    answer = plan(one)
    parents = {team.name: team.parent for team in one.teams}
    pool_of = {node.name: node.pool for node in one.nodes}
    used: dict[tuple[str, str], int] = defaultdict(int)
    started: set[tuple[str, str]] = set()
    names = {start.workload for start in answer.starts}
    for workload, placement in placements(one, answer):
        team: str | None = workload.team
        pool = pool_of[placement.node]
        while team is not None:
            used[team, pool] += sum(milli for _, milli in placement.gpus)
            if workload.id in names and workload.per_task.gpu_milli:
                started.add((team, pool))
            team = parents[team]
    for quota in one.quotas:
        key = (quota.team, quota.pool)
        if quota.limit is not None and key in started:
            assert used[key] <= quota.limit


@given(snapshots())
def test_gangs_start_whole_or_with_at_least_their_minimum(one: Snapshot) -> None:
    workloads = {workload.id: workload for workload in one.workloads}
    for start in plan(one).starts:
        workload = workloads[start.workload]
        count = sum(placement.tasks for placement in start.placements)
        assert (workload.min_tasks or workload.tasks) <= count <= workload.tasks


@given(snapshots())
def test_everything_is_answered_once(one: Snapshot) -> None:
    answer = plan(one)
    asked = {workload.id for workload in one.workloads if workload.running is None}
    started = [start.workload for start in answer.starts]
    waits = [waiting.workload for waiting in answer.waiting]
    assert sorted(started + waits) == sorted(asked)
    runs = {entry.workload for entry in answer.running}
    gone = {entry.workload for entry in answer.preemptions if entry.tasks is None}
    assert runs | gone == {one.id for one in one.workloads if one.running is not None}
    assert not runs & gone
    assert [waiting.position for waiting in answer.waiting] == list(range(1, len(waits) + 1))


@given(snapshots())
def test_every_reason_is_a_known_word_and_the_first_that_applies(one: Snapshot) -> None:
    for waiting in plan(one).waiting:
        also = waiting.detail["also"]
        assert isinstance(also, list)
        places = [REASONS.index(word) for word in (waiting.reason, *also)]
        assert places == sorted(places)


@given(snapshots())
def test_the_plan_follows_its_schema_of_amounts(one: Snapshot) -> None:
    answer = plan(one)
    for share in answer.shares:
        assert min(share.fair_share, share.borrowed, share.lent, share.available) >= 0
        assert share.borrowed <= share.allocated
    assert 0 <= answer.fairness.jain <= 1 + 1e-12
