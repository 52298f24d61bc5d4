"""The pure parts: when a difference is real, which jobs a seed draws, what a change does to terms."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.common.errors import Invalid
from portal.scheduling import trials
from portal.studies import changes, resampling, verdicts
from portal.studies.verdicts import Verdict
from scheduler_core import model as engine
from scheduler_core.traces import Job

DAY, WEEK = 86_400, 604_800


@pytest.mark.parametrize(
    ("base", "changed", "verdict"),
    [
        # Differences -10, -11, -9: mean -10, s = 1, half width 4.303 / sqrt(3) = 2.48.
        ([30, 31, 32], [20, 20, 23], Verdict.BETTER),
        ([20, 20, 23], [30, 31, 32], Verdict.WORSE),
        # All shorter, but -1, -2, -30 spread so far that zero is inside: mean -11, half 40.9.
        ([30, 31, 32], [29, 29, 2], Verdict.UNSURE),
        # The seeds disagree.
        ([30, 31, 32], [20, 20, 33], Verdict.UNSURE),
        ([30, 31, 32], [30, 31, 32], Verdict.SAME),
        ([30, 31], [20, 20], Verdict.ONE_RUN),
        ([30], [20], Verdict.ONE_RUN),
    ],
)
def test_a_difference_is_real_when_seeds_agree_and_the_interval_leaves_out_zero(
    base: list[float], changed: list[float], verdict: Verdict
) -> None:
    assert verdicts.compare(base, changed, lower_is_better=True).verdict is verdict


def test_the_interval_is_that_of_the_paired_t_test() -> None:
    found = verdicts.compare([30, 31, 32], [20, 20, 23], lower_is_better=True)
    # -10 +- 4.303 * 1 / sqrt(3), worked out by hand.
    assert (found.low, found.high) == pytest.approx((-12.484, -7.516), abs=1e-3)
    assert (found.difference, found.agree) == (-10, 3)


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=3, max_size=10
    )
)  # fmt: skip
def test_nothing_is_real_when_seeds_disagree(pairs: list[tuple[float, float]]) -> None:
    base, changed = [a for a, _ in pairs], [b for _, b in pairs]
    found = verdicts.compare(base, changed, lower_is_better=True)
    signs = {(b > a) - (b < a) for a, b in pairs}
    assert not found.is_real or len(signs) == 1
    assert found.is_real is (found.verdict in (Verdict.BETTER, Verdict.WORSE))


def jobs_of(length: int) -> st.SearchStrategy[list[Job]]:
    one = st.builds(
        lambda at, team, user, gpus: Job(f"{at}-{team}-{user}-{gpus}", at, 60, gpus, team=team, user=user),
        st.integers(0, length - 1), st.sampled_from("ab"), st.sampled_from(["", "x", "y"]),
        st.integers(1, 8).map(lambda n: n * 1000),
    )  # fmt: skip
    return st.lists(one, max_size=40)


@given(jobs_of(3 * DAY), st.integers(0, 1000))
def test_a_draw_keeps_people_whole_inside_their_team_and_the_hour_of_the_day(
    jobs: list[Job], seed: int
) -> None:
    drawn = resampling.draw(jobs, seed=seed, first=0, until=3 * DAY)
    assert drawn == resampling.draw(jobs, seed=seed, first=0, until=3 * DAY)
    assert all(0 <= job.submitted_at < 3 * DAY for job in drawn)
    assert [job.submitted_at for job in drawn] == sorted(job.submitted_at for job in drawn)
    hours = {(job.team, job.user, job.gpu_milli, job.submitted_at % DAY) for job in jobs}
    assert {(j.team, j.user, j.gpu_milli, j.submitted_at % DAY) for j in drawn} <= hours
    # Whoever is drawn brings all their jobs.
    whole = Counter((job.team, job.user) for job in jobs if job.user)
    for person, count in Counter((job.team, job.user) for job in drawn if job.user).items():
        assert count % whole[person] == 0


@pytest.mark.parametrize(
    ("length", "unit"), [(2 * WEEK, WEEK), (WEEK, DAY), (2 * 3600, 3600), (120, 60), (5, 1)]
)
def test_moves_are_of_the_longest_unit_that_fits_twice(length: int, unit: int) -> None:
    assert resampling.unit(length) == unit


@pytest.fixture
def terms() -> engine.Snapshot:
    nodes = tuple(engine.Node(f"n{i}", "p1", gpus=8, cpu_milli=1, memory_mib=1) for i in range(3))
    return engine.Snapshot(
        now=0, policy=engine.Policy(order="fifo"), teams=(engine.Team("t1"),),
        pools=(engine.Pool("p1"),), nodes=nodes, quotas=(engine.Quota("t1", "p1", 4000, 8000),),
        reservations=(engine.Reservation("r5", "t1", "p1", 2000, 10, 20),),
    )  # fmt: skip


def test_each_change_changes_its_one_thing_alone(terms: engine.Snapshot) -> None:
    def after(**change: Any) -> engine.Snapshot:
        return changes.applied(change, terms)

    quota = after(kind="quota", team=1, pool=1, guaranteed=6, limit=None)
    assert quota.quotas == (engine.Quota("t1", "p1", 6000, None),)
    more = after(kind="nodes", pool=1, nodes=2)
    assert [node.gpus for node in more.nodes] == [8] * 5
    assert len({node.name for node in more.nodes}) == 5
    assert len(after(kind="nodes", pool=1, nodes=-2).nodes) == 1
    held = after(kind="reserve", team=1, pool=1, gpus=3, starts_at=1, ends_at=2)
    assert held.reservations[1].gpu_milli == 3000
    assert after(kind="unreserve", reservation=5).reservations == ()
    rules = after(kind="rules", rules={"order": "sjf", "preemption": {"enabled": True}})
    assert (rules.policy.order, rules.policy.preemption.enabled) == ("sjf", True)
    assert rules.policy.backfill == terms.policy.backfill
    for changed in (quota, more, held, rules):
        assert changed != terms
        assert changed.teams == terms.teams


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "nodes", "pool": 1, "nodes": -3},
        {"kind": "nodes", "pool": 9, "nodes": 1},
        {"kind": "quota", "team": 9, "pool": 1, "guaranteed": 1, "limit": None},
        {"kind": "reserve", "team": 1, "pool": 9, "gpus": 1, "starts_at": 0, "ends_at": 1},
        {"kind": "unreserve", "reservation": 9},
        {"kind": "rules", "rules": {"order": "nonsense"}},
    ],
)
def test_a_change_that_cannot_be_is_refused(terms: engine.Snapshot, change: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        changes.applied(change, terms)


def test_a_trial_under_random_placement_follows_its_seed() -> None:
    base = trials.bare_terms("4x8", engine.Policy(placement="random", seed=1))
    jobs = [Job(str(n), n, 600, 3000) for n in range(20)]
    assert trials.run(jobs, base, until=3000) == trials.run(jobs, base, until=3000)
