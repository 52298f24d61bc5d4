"""Every plan is the earliest there is: compared with a search that tries every moment."""

from dataclasses import replace
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.backfill import FOREVER, Horizon
from scheduler_core.backfill.profile import Change, Profile
from scheduler_core.model import (
    Node,
    PerTask,
    Placement,
    Policy,
    Pool,
    Running,
    Snapshot,
    Workload,
)
from scheduler_core.placement import PLACEMENTS
from scheduler_core.planner import plan
from scheduler_core.resources import NOTHING, Amount
from scheduler_core.scratch import Need, State
from scheduler_core.testing import NOW, node, running, snapshot, waiting

GPUS = 4


class Use(NamedTuple):
    """What stands on a node from `start` to `end`."""

    start: int
    end: int
    gpus: int
    cpu: int


def end_of(workload: Workload, start: int) -> int:
    seconds = workload.duration_seconds
    return FOREVER if seconds is None else start + seconds


class Brute:
    """Knows everything that stands on every node, and tries every moment."""

    def __init__(self, one: Snapshot) -> None:
        self.nodes = one.nodes
        self.uses: dict[str, list[Use]] = {each.name: [] for each in one.nodes}
        for workload in one.workloads:
            if workload.running is not None:
                end = end_of(workload, workload.running.started_at)
                self.place(workload, workload.running.placements, one.now, end)

    def place(self, workload: Workload, spots: tuple[Placement, ...], start: int, end: int) -> None:
        per_task = workload.per_task
        for spot in spots:
            gpus, cpu = spot.tasks * per_task.gpu_milli // 1000, spot.tasks * per_task.cpu_milli
            self.uses[spot.node].append(Use(start, end, gpus, cpu))

    def tasks(self, each: Node, workload: Workload, start: int) -> int:
        """Return how many tasks the node takes throughout."""
        uses = self.uses[each.name]
        end = end_of(workload, start)
        moments = {start, *(use.start for use in uses if start < use.start < end)}
        per_task = workload.per_task
        least = 10**6
        for moment in moments:
            there = [use for use in uses if use.start <= moment < use.end]
            gpus = each.gpus - sum(use.gpus for use in there)
            cpu = each.cpu_milli - sum(use.cpu for use in there)
            least = min(least, gpus * 1000 // per_task.gpu_milli, cpu // per_task.cpu_milli)
        return max(0, least)

    def earliest(self, workload: Workload, after: int) -> int | None:
        ends = {use.end for uses in self.uses.values() for use in uses}
        for moment in sorted({after, *(end for end in ends if after < end < FOREVER)}):
            if sum(self.tasks(each, workload, moment) for each in self.nodes) >= workload.tasks:
                return moment
        return None


@st.composite
def busy(draw: st.DrawFn) -> Snapshot:
    """Draw a pool of many nodes on each of which something runs, and work that waits."""
    count = draw(st.integers(1, 40))
    nodes = [node(f"n{number:02}", GPUS, cpu_milli=4000) for number in range(count)]
    work = []
    for number in range(count):
        held = draw(st.integers(1, GPUS))
        seconds = draw(st.sampled_from([None, *range(10, 400, 7)]))
        one = running(f"r{number}", "a", f"n{number:02}", range(held), duration_seconds=seconds)
        cpu = draw(st.sampled_from([1, 1000, 4000]))
        work.append(replace(one, per_task=replace(one.per_task, cpu_milli=cpu)))
    for number in range(draw(st.integers(1, 12))):
        one = waiting(
            f"w{number:02}",
            "a",
            draw(st.sampled_from([1000, 1000, 2000, 4000])),
            tasks=draw(st.sampled_from([1, 1, 1, 2, 5])),
            submitted_at=NOW - 100 + number,
            duration_seconds=draw(st.sampled_from([5, 20, 50, 100, 300, 1000, None])),
        )
        cpu = draw(st.sampled_from([1, 1, 500, 2000]))
        work.append(replace(one, per_task=replace(one.per_task, cpu_milli=cpu)))
    guaranteed = {"a": 10_000_000}
    return snapshot(nodes, guaranteed, work, policy=Policy(order="fifo"))


@settings(max_examples=150, deadline=None)
@given(busy(), st.sampled_from([0, 30, 200]))
def test_each_plan_is_the_earliest_beside_those_before_it(one: Snapshot, delay: int) -> None:
    state = State(one)
    horizon = Horizon(state, PLACEMENTS["pack"])
    brute = Brute(one)
    for workload in list(state.waiting.values()):
        found = horizon.earliest(workload, [0], NOW + delay)
        moment = None if found is None else found.start
        assert moment == brute.earliest(workload, NOW + delay)
        if found is not None:
            horizon.keep(workload, found)
            spots = tuple(Placement(one.nodes[number].name, tasks) for number, tasks in found.spots)
            for spot in spots:
                each = next(each for each in one.nodes if each.name == spot.node)
                assert brute.tasks(each, workload, found.start) >= spot.tasks
            brute.place(workload, spots, found.start, end_of(workload, found.start))


def test_the_one_node_that_is_free_first_is_found_among_many() -> None:
    work = [
        running(f"r{number}", "a", f"n{number}", range(8), duration_seconds=1000 - number)
        for number in range(300)
    ]
    nodes = [node(f"n{number}", 8) for number in range(300)]
    late = waiting("w", "a", 8000, duration_seconds=60)
    answer = plan(snapshot(nodes, {"a": 10_000_000}, [*work, late], policy=Policy(order="fifo")))
    assert answer.waiting[0].planned_start == NOW + 1000 - 299


def test_a_gang_without_a_known_end_is_planned_when_enough_is_free_for_good() -> None:
    work = [
        running("r1", "a", "n1", range(4), duration_seconds=100),
        running("r2", "a", "n2", range(4), duration_seconds=300),
        running("r3", "a", "n3", range(4)),
        waiting("gang", "a", 4000, tasks=2),
    ]
    nodes = [node(f"n{number}", 4) for number in (1, 2, 3)]
    answer = plan(snapshot(nodes, {"a": 16_000}, work, policy=Policy(order="fifo")))
    assert answer.waiting[0].planned_start == NOW + 300


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([250, 500, 1000]), st.integers(1, 300)), max_size=10))
def test_shares_of_devices_are_planned_at_their_earliest(asks: list[tuple[int, int]]) -> None:
    """One device: whatever stands on it adds up, so the brute search needs no choice of device."""
    only = replace(node("n", 1), pool="p")
    held = replace(
        waiting("r", "a", 1000, duration_seconds=40),
        running=Running(NOW, (Placement("n", 1, ((0, 1000),)),)),
    )
    work = [
        waiting(f"w{number:02}", "a", milli, submitted_at=NOW - 50 + number, duration_seconds=long)
        for number, (milli, long) in enumerate(asks)
    ]
    one = snapshot(
        [only],
        {"a": 10_000_000},
        [held, *work],
        policy=Policy(order="fifo"),
        pools=(Pool("p", sharing="shared"),),
    )
    taken = [0] * 4000
    taken[:40] = [1000] * 40
    planned = {entry.workload: entry.planned_start for entry in plan(one).waiting}
    for workload in work:
        milli, long = workload.per_task.gpu_milli, workload.duration_seconds or 0
        first = next(at for at in range(4000) if max(taken[at : at + long]) + milli <= 1000)
        assert planned[workload.id] == NOW + first
        taken[first : first + long] = [held + milli for held in taken[first : first + long]]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 40),
            st.integers(1, 30),
            st.integers(0, 2),
            st.sampled_from([250, 500, 1000]),
        ),
        max_size=8,
    ),
    st.sampled_from([250, 500, 1000, 2000]),
    st.integers(0, 30),
    st.integers(1, 40),
)
def test_a_task_on_shared_devices_stays_on_the_ones_it_began_on(
    held: list[tuple[int, int, int, int]], milli: int, after: int, long: int
) -> None:
    profile = Profile(0, 3, Amount(), [1000] * 3)
    free = [[1000] * 3 for _ in range(300)]
    for start, length, device, part in held:
        if min(row[device] for row in free[start : start + length]) < part:
            continue
        change = Change(start, start + length, -1, 1, NOTHING, ((device, part),))
        profile.apply([change])
        for row in free[start : start + length]:
            row[device] -= part
    need = Need(PerTask(milli), (), frozenset(), None)

    def fits(moment: int) -> bool:
        least = [min(row[device] for row in free[moment : moment + long]) for device in range(3)]
        devices, part = (milli // 1000, 1000) if milli >= 1000 else (1, milli)
        return sum(one >= part for one in least) >= devices

    first = next(moment for moment in range(after, 200) if fits(moment))
    assert profile.earliest(need, after, long) == first
