"""The queue, shares, loans and waits as different readers may see them."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from portal.common.errors import Invalid
from portal.inventory.models import Pool
from portal.scheduling import selectors
from portal.scheduling.models import Decision, Share, Standing, Tick, TickState, Verb
from portal.scheduling.selectors.shares import loans_of_pool
from portal.teams import selectors as teams
from portal.teams.models import Role, Team
from portal.teams.selectors import Access
from portal.workloads.models import StageEvent, Workload, WorkloadState
from tests import builders

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def pool() -> Pool:
    return builders.a_pool(nodes=1)


@pytest.fixture
def vision() -> Team:
    return builders.a_team("vision", parent=builders.a_team("research"))


@pytest.fixture
def speech() -> Team:
    return builders.a_team("speech")


@pytest.fixture
def tick(pool: Pool, now: datetime) -> Tick:
    return Tick.objects.create(
        cluster=pool.cluster, at=now, state=TickState.DONE, started_real_at=now
    )


def reader(role: Role, team: Team | None, now: datetime) -> Access:
    user = builders.a_user(f"{role}-{team}", role=role, team=team)
    return teams.get_access(user_id=user.pk, now=now)


def stands(tick: Tick, job: Workload, position: int, **said: object) -> Standing:
    return Standing.objects.create(
        tick=tick, workload=job, verb=Verb.WAIT, position=position, **said
    )


def titles(access: Access, **asked: object) -> list[str]:
    jobs = selectors.list_queue(access, **asked)  # type: ignore[arg-type]
    return [row.title for row in selectors.queue_rows(jobs, access)]


def test_others_see_a_job_of_a_team_and_never_its_name(
    pool: Pool, vision: Team, speech: Team, now: datetime
) -> None:
    builders.a_workload(vision, pool, "llm-sft-07", person="minji")
    builders.a_workload(speech, pool, "asr-pretrain", person="hyun")
    builders.a_workload(None, pool, "stray")
    access = reader(Role.MEMBER, vision, now)
    rows = selectors.queue_rows(selectors.list_queue(access), access)
    assert [(r.title, r.person, r.kind, r.visible) for r in rows] == [
        ("llm-sft-07", "minji", "batch", True),
        ("a job of Speech", "", "", False),
        ("a job of no team", "", "", False),
    ]
    assert titles(reader(Role.AUDITOR, None, now)) == ["llm-sft-07", "asr-pretrain", "stray"]
    assert titles(reader(Role.FINANCE, None, now))[0] == "a job of Vision"


def test_a_search_does_not_tell_whether_a_hidden_job_has_a_name(
    pool: Pool, vision: Team, speech: Team, now: datetime
) -> None:
    builders.a_workload(vision, pool, "llm-mine")
    builders.a_workload(speech, pool, "llm-theirs", kind="training")
    access = reader(Role.LEAD, vision, now)
    assert titles(access, q="llm") == ["llm-mine"]
    assert titles(access, q="speech") == ["a job of Speech"]
    assert titles(access, kind="training") == []


def test_ended_jobs_are_for_their_own_branch(
    pool: Pool, vision: Team, speech: Team, now: datetime
) -> None:
    for team in (vision, speech):
        builders.a_workload(team, pool, f"old-{team.slug}", state=WorkloadState.FAILED)
    above = Team.objects.get(slug="research")
    access = reader(Role.MEMBER, above, now)
    assert titles(access) == []
    assert titles(access, states=["failed"]) == ["old-vision"]


def test_the_queue_is_in_the_order_of_the_plan_then_of_submission(
    pool: Pool, vision: Team, tick: Tick, now: datetime
) -> None:
    late = builders.a_workload(vision, pool, "late", submitted_at=now)
    early = builders.a_workload(vision, pool, "early", submitted_at=now - MINUTE)
    builders.a_workload(vision, pool, "unseen", submitted_at=now - 2 * MINUTE)
    stands(tick, late, 1)
    stands(tick, early, 2)
    access = reader(Role.MEMBER, vision, now)
    assert titles(access) == ["late", "early", "unseen"]
    assert titles(access, sort="-submitted_at") == ["late", "early", "unseen"]
    assert titles(access, sort="submitted_at") == ["unseen", "early", "late"]
    with pytest.raises(Invalid):
        titles(access, sort="name")


def test_a_reason_names_the_job_ahead_only_to_its_own_branch(
    pool: Pool, vision: Team, speech: Team, tick: Tick, now: datetime
) -> None:
    ahead = builders.a_workload(speech, pool, "asr-pretrain")
    job = builders.a_workload(vision, pool, "mine")
    detail = {"team": f"t{speech.pk}", "workload": f"w{ahead.pk}", "pool": f"p{pool.pk}"}
    stands(tick, job, 2, reason="behind", detail=detail)
    said = []
    for access in (reader(Role.MEMBER, vision, now), reader(Role.ADMIN, None, now)):
        rows = selectors.queue_rows(selectors.list_queue(access), access)
        said.append(next(row.sentence.text for row in rows if row.id == job.pk))
    assert said == [
        "It stands behind a job of Speech.",
        "It stands behind asr-pretrain (Speech).",
    ]


def test_a_page_of_the_queue_costs_the_same_however_long_it_is(
    pool: Pool, vision: Team, tick: Tick, now: datetime
) -> None:
    access = reader(Role.MEMBER, vision, now)
    counts = []
    for batch in (2, 20):
        for number in range(batch):
            job = builders.a_workload(vision, pool, f"j-{batch}-{number}")
            stands(tick, job, number, reason="behind", detail={"workload": f"w{job.pk}"})
        with CaptureQueriesContext(connection) as asked:
            selectors.queue_rows(selectors.list_queue(access), access)
        counts.append(len(asked))
    assert counts == [5, 5]


def test_one_workload_is_told_in_full_to_its_branch_and_to_nobody_else(
    pool: Pool, vision: Team, speech: Team, tick: Tick, now: datetime
) -> None:
    job = builders.a_workload(vision, pool, "mine", state=WorkloadState.RUNNING)
    builders.a_pod(job, pool.nodes.get(), devices=[[3, 1000]], charged_to="borrowed")
    StageEvent.objects.create(workload=job, at=now, state=WorkloadState.RUNNING, why="")
    Decision.objects.create(tick=tick, workload=job, verb=Verb.RUN, charged_to="borrowed")
    found = selectors.get_workload(reader(Role.MEMBER, vision, now), workload_id=job.pk)
    assert found is not None
    assert [(p.node_name, p.devices, p.charged_to) for p in found.placements] == [
        ("h100-0", (3,), "borrowed")
    ]
    assert [event.state for event in found.events] == ["running"]
    assert [d.sentence.text for d in found.decisions] == [
        "It runs on borrowed GPUs and is the first to make room."
    ]
    other = reader(Role.MEMBER, speech, now)
    assert selectors.get_workload(other, workload_id=job.pk) is None
    assert selectors.list_decisions(other, workload_id=job.pk) == []
    assert selectors.get_workload(other, workload_id=0) is None


def a_share(tick: Tick, team: Team, pool: Pool, **figures: int) -> Share:
    given = {"guaranteed": 8000, "allocated": 8000, "borrowed": 0, "lent": 0, **figures}
    return Share.objects.create(
        tick=tick, team=team, pool=pool, reserved=0, fair_share=8000, available=0,
        dominant_share=0.5, satisfaction=1, guaranteed_gpus=8, burst_gpus=0, **given,
    )  # fmt: skip


def test_shares_are_those_of_the_newest_tick_that_decided(
    pool: Pool, vision: Team, tick: Tick, now: datetime
) -> None:
    a_share(tick, vision, pool, allocated=1000)
    later = Tick.objects.create(
        cluster=pool.cluster, at=now + MINUTE, state=TickState.DONE, started_real_at=now
    )
    a_share(later, vision, pool, allocated=2000)
    Tick.objects.create(
        cluster=pool.cluster, at=now + 2 * MINUTE, state=TickState.STALE, started_real_at=now
    )
    (row,) = selectors.shares_now(team_id=vision.pk)
    assert (row.allocated, row.as_of, row.team_name) == (2000, now + MINUTE, "Vision")
    newest = selectors.latest_tick(cluster_id=pool.cluster_id)
    assert newest is not None
    assert newest.state == TickState.STALE


def test_loans_add_up_to_what_each_lends_and_each_borrows(
    pool: Pool, vision: Team, speech: Team, tick: Tick
) -> None:
    search, robotics = builders.a_team("search"), builders.a_team("robotics")
    a_share(tick, vision, pool, borrowed=4000)
    a_share(tick, search, pool, borrowed=2000)
    a_share(tick, speech, pool, lent=3000)
    a_share(tick, robotics, pool, lent=1000)
    found = {
        (loan.lender_name, loan.borrower_name): loan.gpu_milli for loan in selectors.list_loans()
    }
    # Two thirds of each part go to Vision, one third to Search; the rest nobody was promised. Only
    # whole GPUs are borrowed, so the one GPU of Robotics goes whole to Vision.
    assert found == {
        ("Speech", "Vision"): 2000, ("Speech", "Search"): 1000, ("Robotics", "Vision"): 1000,
        ("", "Vision"): 1000, ("", "Search"): 1000,
    }  # fmt: skip


def test_shares_of_gpus_are_lent_to_the_thousandth(
    pool: Pool, vision: Team, speech: Team, tick: Tick
) -> None:
    search = builders.a_team("search")
    a_share(tick, vision, pool, borrowed=500)
    a_share(tick, search, pool, borrowed=1000)
    a_share(tick, speech, pool, lent=1000)
    found = [(loan.borrower_name, loan.gpu_milli) for loan in selectors.list_loans(pool_id=pool.pk)]
    # A third and two thirds of one GPU, then what nobody was promised.
    assert found == [("Vision", 333), ("Search", 667), ("Vision", 167), ("Search", 333)]


def _row(team_id: int, borrowed: int, lent: int) -> selectors.ShareRow:
    return selectors.ShareRow(
        team_id=team_id, team_name=str(team_id), team_hue=1, pool_id=1, pool_name="t4",
        cluster_id=1, tick_id=1, as_of=builders.LONG_AGO, guaranteed=0, reserved=0, fair_share=0,
        allocated=0, borrowed=borrowed, lent=lent, available=0, dominant_share=0, satisfaction=0,
        factor=None, guaranteed_gpus=0, burst_gpus=0,
    )  # fmt: skip


@given(
    borrowed=st.lists(st.integers(0, 12), max_size=4),
    unused=st.lists(st.integers(0, 12), max_size=4),
    unpromised=st.integers(0, 12),
)
def test_whole_gpus_borrowed_are_lent_whole_and_all_sums_hold(
    borrowed: list[int], unused: list[int], unpromised: int
) -> None:
    """Lenders' parts as the engine divides them: by what each leaves unused, to the thousandth."""
    total = min(sum(unused), max(0, sum(borrowed) - unpromised)) * 1000
    lent = [total * part // max(1, sum(unused)) for part in unused]
    for place in range(total - sum(lent)):
        lent[place] += 1
    rows = [_row(number, gpus * 1000, 0) for number, gpus in enumerate(borrowed)]
    rows += [_row(100 + number, 0, milli) for number, milli in enumerate(lent)]
    loans = loans_of_pool(rows)
    assert all(loan.gpu_milli % 1000 == 0 for loan in loans)
    for row in rows:
        taken = sum(loan.gpu_milli for loan in loans if loan.borrower_id == row.team_id)
        given_away = sum(loan.gpu_milli for loan in loans if loan.lender_id == row.team_id)
        assert taken == row.borrowed
        assert abs(given_away - row.lent) < 1000
    assert sum(loan.gpu_milli for loan in loans if loan.lender_id is not None) == total


def test_waits_count_those_that_still_wait(
    pool: Pool, vision: Team, speech: Team, now: datetime
) -> None:
    for minutes in range(1, 10):  # nine waited 1 to 9 minutes
        begun = now - 60 * MINUTE
        builders.a_workload(
            vision, pool, f"ran-{minutes}", submitted_at=begun, state=WorkloadState.RUNNING,
            scheduled_at=begun + minutes * MINUTE,
        )  # fmt: skip
    builders.a_workload(vision, pool, "stuck", submitted_at=now - 60 * MINUTE)
    builders.a_workload(speech, pool, "old", submitted_at=now - timedelta(days=9))
    (row,) = selectors.list_waits(since=now - timedelta(days=1), now=now)
    assert (row.team_name, row.jobs, row.still_waiting) == ("Vision", 10, 1)
    assert (row.p50_seconds, row.p90_seconds) == (5 * 60, 9 * 60)
    (later,) = selectors.list_waits(since=now - timedelta(days=1), now=now, pool_id=pool.pk)
    assert later == row
