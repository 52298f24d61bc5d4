"""Waits count those that still wait, as Kaplan and Meier did."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.dashboards import periods
from portal.dashboards.selectors import waits
from portal.dashboards.selectors.waits import By, Wait
from portal.inventory import selectors as inventory
from portal.teams import selectors as teams
from portal.workloads.models import Workload, WorkloadState
from tests import builders

# Weeks of remission of 21 patients on 6-MP (Freireich et al. 1963); those with False still were.
REMISSION = [
    *[(t, True) for t in (6, 6, 6, 7, 10, 13, 16, 22, 23)],
    *[(t, False) for t in (6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)],
]


def test_the_textbook_example_has_the_textbooks_median() -> None:
    found = waits.quantiles([Wait(t, started) for t, started in REMISSION], (10, 25, 50, 90))
    # S falls to .857 at 6, .807 at 7, .753 at 10, .690 at 13, .538 at 22 and .448 at 23.
    assert [(q.seconds, q.reached) for q in found] == [
        (6, True), (13, True), (23, True), (35, False),
    ]  # fmt: skip


def test_of_jobs_that_all_started_it_is_the_nearest_rank() -> None:
    found = waits.quantiles([Wait(t, True) for t in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)])
    assert [q.seconds for q in found] == [5, 9, 10, 10]


def test_a_stuck_queue_does_not_look_fast() -> None:
    stuck = [Wait(10, True), *[Wait(86_400, False)] * 9]
    half = waits.quantiles(stuck, (50,))[0]
    assert (half.seconds, half.reached) == (86_400, False)
    assert half.words == "over 1 d"


def test_nothing_submitted_has_no_quantile() -> None:
    assert not any(q.reached for q in waits.quantiles([]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.booleans()), min_size=1, max_size=40))
def test_quantiles_rise_and_waiting_longer_never_shortens_one(
    drawn: list[tuple[int, bool]],
) -> None:
    plain = [Wait(*one) for one in drawn]
    found = waits.quantiles(plain)
    assert [q.seconds for q in found] == sorted(q.seconds for q in found)
    later = waits.quantiles([w if w.started else Wait(w.seconds + 100, False) for w in plain])
    for before, after in zip(found, later, strict=True):
        assert after.seconds >= before.seconds


@pytest.mark.parametrize(
    ("milli", "size"),
    [(500, "part"), (1000, "1"), (2000, "2-7"), (7500, "8"), (8000, "8"), (16_000, "more")],
)
def test_a_job_is_as_large_as_all_its_gpus(milli: int, size: str) -> None:
    assert waits.size_of(milli) == size


@pytest.mark.django_db
def test_waits_are_told_apart_by_team_pool_size_and_class(now: datetime) -> None:
    pool = builders.a_pool("h100")
    vision, speech = builders.a_team("vision"), builders.a_team("speech")
    for number, (team, gpus, minutes) in enumerate(
        [(vision, 1, 10), (vision, 8, 30), (speech, 1, None)]
    ):
        begun = now - timedelta(hours=2)
        job = builders.a_workload(team, pool, f"job-{number}", gpu_milli=gpus * 1000)
        Workload.objects.filter(pk=job.pk).update(
            submitted_at=begun,
            scheduled_at=None if minutes is None else begun + timedelta(minutes=minutes),
            state=WorkloadState.WAITING if minutes is None else WorkloadState.RUNNING,
        )
    window = periods.cut(now - timedelta(days=1), now, "Asia/Seoul")
    names = waits.Names(teams.team_names(), inventory.pool_names())
    jobs = waits.list_jobs(window)
    found = {by: waits.group_waits(by, jobs, window, now=now, names=names) for by in By}
    by_team = {row.label: (row.jobs, row.still, row.p50.seconds) for row in found[By.TEAM]}
    assert by_team == {"Vision": (2, 0, 600), "Speech": (1, 1, 7200)}
    assert [(row.key, row.jobs) for row in found[By.SIZE]] == [("1", 2), ("8", 1)]
    assert [(row.label, row.jobs) for row in found[By.POOL]] == [("h100", 3)]
    assert [row.jobs for row in found[By.KIND]] == [3]


@pytest.mark.django_db
def test_who_waits_longest_for_the_target_comes_first(now: datetime) -> None:
    pool = builders.a_pool("h100")
    vision, speech = builders.a_team("vision"), builders.a_team("speech")
    late = builders.a_workload(vision, pool, "late")
    builders.a_breach(late, now)
    older = builders.a_workload(speech, pool, "older")
    Workload.objects.filter(pk=late.pk).update(submitted_at=now - timedelta(hours=2))
    Workload.objects.filter(pk=older.pk).update(submitted_at=now - timedelta(hours=9))
    window = periods.cut(now - timedelta(hours=1), now, "Asia/Seoul")
    found = waits.rank_waiting(waits.list_jobs(window), now=now, tree=teams.get_tree(now=now))
    assert [row.workload_id for row in found] == [late.pk, older.pk]
    assert found[0].target_seconds is not None
    assert found[0].times == 7200 / found[0].target_seconds
    assert found[1].times is None
