"""Each order serves whom it says, ties are settled, and nobody waits for ever."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.metrics import TeamTree
from scheduler_core.model import Hybrid, PerTask, Plan, Policy, Quota, Snapshot, Team, Workload
from scheduler_core.ordering import factors
from scheduler_core.planner import plan
from scheduler_core.testing import NOW, after, node, running, snapshot, waiting


def served(order: str, work: list[Workload], teams: tuple[Team, ...] = ()) -> list[str]:
    one = snapshot([node("n", 8)], {"a": 8000, "b": 8000, "c": 8000}, work)
    one = replace(one, policy=Policy(order=order, backfill="off", aging_seconds_per_point=60))
    if teams:
        quotas = tuple(Quota(team.name, "p", 8000) for team in teams)
        one = replace(one, teams=teams, quotas=quotas)
    return [start.workload for start in plan(one).starts]


def test_fifo_serves_the_longest_waiting() -> None:
    work = [waiting("new", "a", submitted_at=NOW - 1), waiting("old", "b", submitted_at=NOW - 9)]
    assert served("fifo", work) == ["old", "new"]


def test_ties_go_to_priority_then_submission_then_id() -> None:
    work = [waiting("b", "a"), waiting("a", "a"), waiting("c", "a", priority=1)]
    assert served("fifo", work) == ["c", "a", "b"]


def test_sjf_serves_the_shortest_and_unknown_durations_last() -> None:
    work = [
        waiting("unknown", "a"),
        waiting("long", "a", duration_seconds=9),
        waiting("short", "a", duration_seconds=1),
    ]
    assert served("sjf", work) == ["short", "long", "unknown"]


def test_priority_ages() -> None:
    work = [
        waiting("fresh", "a", priority=2, submitted_at=NOW),
        waiting("aged", "a", priority=0, submitted_at=NOW - 180),
    ]
    assert served("priority", work) == ["aged", "fresh"]


def test_sla_serves_least_slack_first() -> None:
    work = [
        waiting("none", "a"),
        waiting("loose", "a", target_wait_seconds=600),
        waiting("tight", "a", target_wait_seconds=70),
        waiting("late", "a", target_wait_seconds=30),
        waiting("later", "a", target_wait_seconds=10),
    ]
    assert served("sla", work) == ["later", "late", "tight", "loose", "none"]


def test_fair_share_goes_down_the_tree_by_use_for_weight() -> None:
    teams = (
        Team("x", weight=1),
        Team("x1", "x", used_gpu_seconds=90),
        Team("x2", "x", used_gpu_seconds=10),
        Team("y", weight=2, used_gpu_seconds=150),
    )
    work = [waiting(name, name) for name in ("x1", "x2", "y")]
    assert served("fair_share", work, teams) == ["y", "x2", "x1"]


def test_a_start_is_charged_at_once_so_that_one_cycle_serves_several() -> None:
    work = [waiting(f"{team}{number}", team) for team in "ab" for number in range(3)]
    assert served("fair_share", work) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_satisfaction_serves_who_got_least_of_what_it_asks() -> None:
    work = [running("r", "a", "n", [0, 1, 2]), waiting("a1", "a"), waiting("b1", "b", 2000)]
    assert served("satisfaction", work) == ["b1", "a1"]


class TestFairTree:
    def factors(self, teams: list[Team]) -> dict[str, Fraction | None]:
        tree = TeamTree(teams)
        found = factors(
            tree, [team.weight for team in teams], [team.used_gpu_seconds for team in teams]
        )
        return {team.name: factor for team, factor in zip(teams, found, strict=True)}

    def test_parents_have_none(self) -> None:
        assert self.factors([Team("x"), Team("y", "x")]) == {"x": None, "y": 1}

    def test_equal_leaves_share_a_rank(self) -> None:
        teams = [
            Team("x", used_gpu_seconds=5),
            Team("y", used_gpu_seconds=5),
            Team("z", used_gpu_seconds=9),
        ]
        assert self.factors(teams) == {"x": 1, "y": 1, "z": Fraction(1, 3)}

    def test_tied_parents_rank_their_children_together(self) -> None:
        teams = [
            Team("x"),
            Team("y"),
            Team("x1", "x", used_gpu_seconds=1),
            Team("x2", "x", used_gpu_seconds=9),
            Team("y1", "y", used_gpu_seconds=4),
            Team("y2", "y", used_gpu_seconds=6),
        ]
        order = {"x1": 4, "y1": 3, "y2": 2, "x2": 1}
        expected = {name: Fraction(rank, 4) for name, rank in order.items()}
        assert self.factors(teams) == {"x": None, "y": None, **expected}

    def test_a_leaf_tied_with_a_parent_shares_the_rank_of_its_best_leaf(self) -> None:
        teams = [
            Team("x", used_gpu_seconds=10),
            Team("y"),
            Team("y1", "y", used_gpu_seconds=2),
            Team("y2", "y", used_gpu_seconds=8),
        ]
        expected = {"x": 1, "y": None, "y1": 1, "y2": Fraction(1, 3)}
        assert self.factors(teams) == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(1, 3))
def test_aging_brings_finite_waits(priorities: list[int], gpus: int) -> None:
    """Urgent work keeps arriving; what waits at low priority still starts."""
    policy = Policy(order="priority", backfill="off", aging_seconds_per_point=60)
    low = waiting("low", "a", gpus * 1000, priority=0, duration_seconds=60)
    one = snapshot([node("n", 3)], {"a": 3000}, [low], policy=policy)
    for tick in range(6):
        urgent = [
            waiting(
                f"u{tick}-{number}",
                "a",
                1000,
                priority=3,
                submitted_at=one.now,
                duration_seconds=60,
            )
            for number in range(3)
        ]
        one = replace(one, workloads=(*one.workloads, *urgent))
        answer = plan(one)
        if any(start.workload == "low" for start in answer.starts):
            return
        one = over(after(one, answer, 60))
    pytest.fail(f"still waits beside {priorities}")


def over(one: Snapshot) -> Snapshot:
    """Return the snapshot without running work."""
    return replace(one, workloads=tuple(each for each in one.workloads if each.running is None))


ASKS = st.tuples(st.integers(1, 4), st.integers(1, 4))


def drf(asks: list[tuple[int, int]]) -> tuple[Snapshot, Plan]:
    """Return a plan for users who each queue many tasks of (CPU, memory) on 12 of each."""
    work = [
        replace(
            waiting(f"{user}-{number:02}", f"u{user}"),
            per_task=PerTask(0, cpu * 1000, memory * 1024),
        )
        for user, (cpu, memory) in enumerate(asks)
        for number in range(12)
    ]
    one = snapshot(
        [node("n", 0, cpu_milli=12_000, memory_mib=12 * 1024)],
        {f"u{user}": 0 for user in range(len(asks))},
        work,
        policy=Policy(order="drf", backfill="off"),
    )
    return one, plan(one)


@given(st.lists(ASKS, min_size=2, max_size=3))
def test_drf_gives_an_incentive_to_share_and_no_cause_for_envy(asks: list[tuple[int, int]]) -> None:
    _, answer = drf(asks)
    got = [
        sum(start.workload.startswith(f"{user}-") for start in answer.starts)
        for user in range(len(asks))
    ]
    for user, (cpu, memory) in enumerate(asks):
        alone = min(12 // (len(asks) * cpu), 12 // (len(asks) * memory))
        assert got[user] >= alone - 1
        for other, (their_cpu, their_memory) in enumerate(asks):
            theirs = min(got[other] * their_cpu // cpu, got[other] * their_memory // memory)
            assert got[user] >= theirs - 1


@given(st.lists(ASKS, min_size=2, max_size=3))
def test_drf_wastes_nothing_that_somebody_could_use(asks: list[tuple[int, int]]) -> None:
    one, answer = drf(asks)
    assert not plan(after(one, answer)).starts


class TestTheHybrid:
    @pytest.mark.parametrize(
        ("used", "mode", "since", "expected"),
        [
            (8, "spread", NOW - 900, "pack"),
            (8, "spread", NOW - 899, "spread"),
            (6, "pack", NOW - 9000, "spread"),
            (7, "pack", NOW - 9000, "pack"),
            (7, "spread", None, "spread"),
        ],
    )
    def test_switches_at_its_marks_after_its_dwell(
        self, used: int, mode: str, since: int | None, expected: str
    ) -> None:
        hybrid = Hybrid(Fraction(8, 10), Fraction(6, 10), 900, mode, since)  # type: ignore[arg-type]
        one = snapshot(
            [node("n", 10)],
            {"a": 8000},
            [running("r", "a", "n", range(used))],
            policy=Policy(order="fifo", backfill="off", hybrid=hybrid),
        )
        assert plan(one).placement_mode == expected
