"""Backfill promises starts and keeps them; reservations find their GPUs."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.backfill import FOREVER, Steps
from scheduler_core.model import (
    Checkpoint,
    Maintenance,
    Plan,
    Policy,
    Preemption,
    Quota,
    Reservation,
    Snapshot,
    Workload,
)
from scheduler_core.planner import plan
from scheduler_core.testing import NOW, after, node, running, snapshot, waiting

PLAIN = Policy(order="fifo")


def planned(answer: Plan) -> dict[str, int | None]:
    return {entry.workload: entry.planned_start for entry in answer.waiting}


def started(answer: Plan) -> list[str]:
    return [start.workload for start in answer.starts]


@st.composite
def queues(draw: st.DrawFn) -> list[Workload]:
    return [
        waiting(
            f"w{number:02}",
            draw(st.sampled_from(["a", "b"])),
            draw(st.sampled_from([1000, 2000, 4000])),
            tasks=draw(st.sampled_from([1, 1, 1, 2])),
            min_tasks=1,
            submitted_at=NOW - 100 + number,
            duration_seconds=draw(st.sampled_from([60, 100, 600, 1000])),
        )
        for number in range(draw(st.integers(1, 9)))
    ]


def cluster(work: list[Workload], policy: Policy = PLAIN) -> Snapshot:
    return snapshot([node("n1", 4), node("n2", 2)], {"a": 6000, "b": 6000}, work, policy=policy)


@settings(max_examples=200, deadline=None)
@given(queues())
def test_a_later_arrival_never_moves_a_planned_start(work: list[Workload]) -> None:
    before, then = plan(cluster(work[:-1])), plan(cluster(work))
    assert set(started(before)) <= set(started(then))
    for name, moment in planned(before).items():
        assert planned(then)[name] == moment


@settings(max_examples=100, deadline=None)
@given(queues())
def test_the_first_that_waits_starts_when_planned(work: list[Workload]) -> None:
    one = cluster(work)
    answer = plan(one)
    while answer.waiting:
        first = answer.waiting[0]
        assert first.planned_start is not None
        one = ended(after(one, answer, first.planned_start - one.now))
        answer = plan(one)
        assert first.workload in started(answer)


def ended(one: Snapshot) -> Snapshot:
    """Return the snapshot without the work whose time is over."""
    left = tuple(
        workload
        for workload in one.workloads
        if workload.running is None
        or workload.running.started_at + (workload.duration_seconds or 0) > one.now
    )
    return replace(one, workloads=left)


def test_easy_plans_only_the_first_that_is_blocked() -> None:
    work = [
        running("r", "a", "n1", range(4), duration_seconds=600),
        running("s", "a", "n2", range(2), duration_seconds=600),
        waiting("w1", "a", 4000, submitted_at=NOW - 9, duration_seconds=60),
        waiting("w2", "a", 4000, submitted_at=NOW - 8, duration_seconds=60),
    ]
    assert planned(plan(cluster(work, Policy(order="fifo", backfill="easy")))) == {
        "w1": NOW + 600,
        "w2": None,
    }
    assert planned(plan(cluster(work))) == {"w1": NOW + 600, "w2": NOW + 660}


def test_a_head_that_no_end_lets_in_keeps_its_nodes_from_work_without_an_end() -> None:
    work = [
        running("r", "a", "n1", range(3)),
        waiting("head", "a", 4000, submitted_at=NOW - 9),
        waiting("endless", "a", 1000, submitted_at=NOW - 8),
        waiting("short", "a", 1000, submitted_at=NOW - 7, duration_seconds=60),
    ]
    answer = plan(snapshot([node("n1", 4)], {"a": 8000}, work, policy=PLAIN))
    assert started(answer) == ["short"]
    reasons = {entry.workload: entry.reason for entry in answer.waiting}
    assert planned(answer) == {"head": None, "endless": None}
    assert reasons["endless"] in ("behind", "pool_full")


def test_a_plan_beyond_a_guarantee_never_holds_back_work_within_one() -> None:
    work = [
        running("r", "a", "n1", range(2), duration_seconds=100),
        waiting("borrows", "b", 4000, submitted_at=NOW - 9, duration_seconds=100),
        waiting("within", "a", 2000, submitted_at=NOW - 8, duration_seconds=1000),
    ]
    answer = plan(snapshot([node("n1", 4)], {"a": 4000, "b": 0}, work, policy=PLAIN))
    assert started(answer) == ["within"]
    assert planned(answer) == {"borrows": NOW + 1000}


class TestAReservation:
    POLICY = Policy(order="fifo", preemption=Preemption(min_runtime_seconds=100))

    def entry(self, **changes: object) -> Reservation:
        values = {"gpu_milli": 4000, "starts_at": NOW + 600, "ends_at": NOW + 1200, **changes}
        return Reservation(id="r-1", team="b", pool="p", **values)  # type: ignore[arg-type]

    def cluster(self, work: list[Workload], **changes: object) -> Snapshot:
        return snapshot(
            [node("n1", 4), node("n2", 4)],
            {"a": 4000, "b": 0},
            work,
            policy=self.POLICY,
            reservations=(self.entry(**changes),),
        )

    def test_holds_back_what_would_still_hold_its_gpus(self) -> None:
        short = waiting("short", "a", 4000, tasks=2, duration_seconds=600)
        assert started(plan(self.cluster([short]))) == ["short"]
        answer = plan(self.cluster([replace(short, id="long", duration_seconds=601)]))
        (left,) = answer.waiting
        assert "reservation_ahead" in (left.reason, *left.detail["also"])  # type: ignore[misc]
        assert left.planned_start == NOW + 1200

    def test_lets_in_what_can_be_reclaimed_with_its_work_saved(self) -> None:
        saves = Checkpoint(save_seconds=30, restore_seconds=30)
        work = [waiting("w", "a", 4000, tasks=2, duration_seconds=3600, checkpoint=saves)]
        assert started(plan(self.cluster(work))) == ["w"]

    def test_keeps_whole_nodes_for_its_shape(self) -> None:
        work = [waiting(f"w{number}", "a", 1000, duration_seconds=3600) for number in range(4)]
        answer = plan(self.cluster(work, gpus_per_node=4))
        nodes = {placement.node for start in answer.starts for placement in start.placements}
        assert len(answer.starts) == 4
        assert len(nodes) == 1

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2000)), max_size=8), st.booleans())
    def test_finds_its_gpus_in_its_shape_when_it_opens(
        self, asks: list[tuple[int, int]], shaped: bool
    ) -> None:
        work = [
            waiting(f"w{number}", "a", gpus * 1000, duration_seconds=seconds, checkpoint=None)
            for number, (gpus, seconds) in enumerate(asks)
        ]
        one = self.cluster(work, gpus_per_node=4 if shaped else None)
        for moment in (NOW, NOW + 50, NOW + 300, NOW + 599):
            one = ended(replace(one, now=moment))
            one = after(one, plan(one))
        named = waiting(
            "named", "b", 4000 if shaped else 1000, tasks=1 if shaped else 4, reservation="r-1"
        )
        one = ended(replace(one, now=NOW + 600, workloads=(*one.workloads, named)))
        assert "named" in started(plan(one))

    def test_from_the_guarantee_is_kept_for_work_that_names_it(self) -> None:
        entry = Reservation("r-1", "a", "p", 4000, NOW - 10, NOW + 1200, source="guarantee")
        work = [waiting("other", "a", 1000), waiting("named", "a", 4000, reservation="r-1")]
        one = snapshot(
            [node("n1", 4)], {"a": 4000}, work, policy=Policy(order="fifo"), reservations=(entry,)
        )
        assert started(plan(one)) == ["named"]


def test_nothing_runs_into_maintenance() -> None:
    work = [
        waiting("endless", "a", 1000),
        waiting("long", "a", 1000, duration_seconds=101),
        waiting("short", "a", 1000, duration_seconds=100),
    ]
    one = snapshot(
        [node("n1", 4)],
        {"a": 4000},
        work,
        policy=PLAIN,
        maintenance=(Maintenance("n1", NOW + 100, NOW + 200),),
    )
    answer = plan(one)
    assert started(answer) == ["short"]
    assert planned(answer) == {"endless": NOW + 200, "long": NOW + 200}


def test_a_quota_that_begins_later_is_on_the_timeline() -> None:
    one = snapshot([node("n1", 4)], {"a": 0}, [waiting("w", "a", 2000, duration_seconds=60)])
    quotas = (
        Quota("a", "p", 0, limit=0, valid_to=NOW + 500),
        Quota("a", "p", 4000, limit=4000, valid_from=NOW + 500),
    )
    answer = plan(replace(one, policy=PLAIN, quotas=quotas))
    assert planned(answer) == {"w": NOW + 500}


def test_head_blocks_lets_nothing_past() -> None:
    work = [
        running("r", "a", "n1", range(3), duration_seconds=100),
        waiting("head", "a", 4000, submitted_at=NOW - 9, duration_seconds=100),
        waiting("small", "a", 1000, submitted_at=NOW - 8, duration_seconds=10),
    ]
    one = snapshot([node("n1", 4)], {"a": 8000}, work, policy=Policy(order="fifo_strict"))
    answer = plan(one)
    assert not answer.starts
    assert planned(answer) == {"head": NOW + 100, "small": NOW + 200}
    (_, small) = answer.waiting
    assert small.reason == "behind"


class TestSteps:
    @given(
        st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(-3, 3)), max_size=8),
        st.integers(0, 30),
        st.integers(1, 20),
        st.integers(-2, 4),
    )
    def test_earliest_below_is_the_first_moment_that_works(
        self, changes: list[tuple[int, int, int]], start: int, duration: int, most: int
    ) -> None:
        steps = Steps(0, 0)
        plain = [0] * 100
        for begin, length, change in changes:
            steps.add(begin, begin + length, change)
            for moment in range(begin, begin + length):
                plain[moment] += change
        works = [
            moment for moment in range(start, 70) if max(plain[moment : moment + duration]) <= most
        ]
        assert steps.earliest_below(start, duration, most) == (works[0] if works else None)

    def test_forever_has_no_end(self) -> None:
        steps = Steps(0, 0)
        steps.add(5, FOREVER, 1)
        assert steps.at(10**12) == 1
        assert steps.earliest_below(0, FOREVER, 0) is None
