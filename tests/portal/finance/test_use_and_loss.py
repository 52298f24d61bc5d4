"""What was lost and what a completed job costs, each figure worked by hand."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from portal.finance import selectors, services
from portal.finance.selectors import Cause
from portal.finance.services import NewRate
from portal.inventory.models import Pool
from portal.teams.models import Role, Team
from portal.usage import services as usage
from portal.usage.models import LedgerEntry
from portal.usage.services import Measurement
from portal.workloads.models import Kind, Workload, WorkloadState
from tests import builders
from tests.portal.finance.hand_worked import HOUR, MONTH_ENDS, MONTH_STARTS, WON, at

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(db: None) -> Pool:
    """12,000 won a GPU-hour until the 15th, 6,000 after it; borrowed at half."""
    pool = builders.a_pool("h100", nodes=1)
    for begins, won in ((at(-30), 12_000), (at(15), 6_000)):
        services.set_rate_card(
            name="Card", currency="KRW", valid_from=begins, actor_id=None, now=at(1),
            rates=[NewRate(pool.pk, won * WON, borrowed_milli=500)],
        )  # fmt: skip
    return pool


def a_job(
    team: Team | None, pool: Pool, name: str, state: WorkloadState, ended_at: datetime, **held: Any
) -> Workload:  # fmt: skip
    """A job that ended."""
    return builders.a_workload(team, pool, name, state=state, ended_at=ended_at, **held)


def held(job: Workload, from_at: datetime, hours: int, charged_to: str = "guaranteed") -> None:
    """One GPU for so many hours, in the ledger and its sums."""
    assert job.pool is not None
    rows = builders.use(
        job.team, job.pool, from_at, from_at + timedelta(hours=hours), charged_to=charged_to
    )
    pod = rows[0].pod_uid
    taken_back = LedgerEntry.objects.filter(pod_uid=pod)
    # The ledger takes no update: the same rows under the job's id, the first taken back.
    LedgerEntry.objects.bulk_create(
        [
            LedgerEntry(
                **{
                    **{f.attname: getattr(row, f.attname) for f in row._meta.fields if f.name != "id"},
                    "revision": 1 + ours, "sign": 1 if ours else -1,
                    "workload_id": job.pk if ours else row.workload_id,
                }
            )
            for row in taken_back
            for ours in (0, 1)
        ]
    )  # fmt: skip
    usage.rebuild_rollups()


def lost() -> dict[tuple[int | None, str], tuple[int, int, int]]:
    """Times, GPU-hours and won by team and cause."""
    return {
        (row.team_id, row.cause): (
            row.times, row.gpu_milli_seconds // HOUR, row.amount_micro // WON,
        )
        for row in selectors.list_lost(from_at=MONTH_STARTS, to_at=MONTH_ENDS)
    }  # fmt: skip


def a_closed_pod(job: Workload, pool: Pool, ended: datetime, hours: int, **columns: Any) -> None:
    """A pod of one GPU that held it until it closed."""
    builders.a_pod(
        job, pool.nodes.first(), scheduled_at=ended - timedelta(hours=hours), closed_at=ended,
        **{"charged_to": "guaranteed", **columns},
    )  # fmt: skip


def test_a_preempted_job_lost_what_it_held_since_its_last_save(pool: Pool) -> None:
    vision = builders.a_team("vision")
    saved = builders.a_workload(vision, pool, "saved", last_saved_at=at(3, 8))
    never = builders.a_workload(vision, pool, "never")
    a_closed_pod(saved, pool, at(3, 10), 10, why="preempted")  # 2 hours since 08:00
    a_closed_pod(never, pool, at(16, 4), 4, why="preempted", charged_to="borrowed")  # all 4
    # 2 x 12,000 + 4 x 6,000 x 0.5
    assert lost() == {(vision.pk, Cause.PREEMPTED): (2, 6, 24_000 + 12_000)}


def test_a_failed_job_lost_all_and_one_that_succeeded_nothing(pool: Pool) -> None:
    speech = builders.a_team("speech")
    failed = a_job(speech, pool, "failed", WorkloadState.FAILED, at(2, 5))
    a_closed_pod(failed, pool, at(2, 5), 5)
    fine = a_job(speech, pool, "fine", WorkloadState.SUCCEEDED, at(2, 5))
    a_closed_pod(fine, pool, at(2, 5), 5)
    a_closed_pod(fine, pool, at(2, 1), 1, why="node_lost")
    assert lost() == {
        (speech.pk, Cause.FAILED): (1, 5, 60_000),
        (speech.pk, Cause.NODE_LOST): (1, 1, 12_000),
    }


def test_a_save_of_a_later_attempt_saves_nothing_of_an_earlier(pool: Pool) -> None:
    job = builders.a_workload(None, pool, "again", last_saved_at=at(5))
    a_closed_pod(job, pool, at(3, 10), 10, why="preempted")
    assert lost() == {(None, Cause.PREEMPTED): (1, 10, 120_000)}


def test_an_idle_hour_lost_what_was_measured_and_not_computed(pool: Pool) -> None:
    vision = builders.a_team("vision")
    job = builders.a_workload(vision, pool, "idle")
    held(job, at(4), 2)
    usage.note_measured(
        measurements=[
            Measurement(job.pk, at(4), HOUR, HOUR // 100),  # 1 %: idle
            Measurement(job.pk, at(4, 1), HOUR, HOUR // 10),  # 10 %: not
        ],
        source="prometheus",
        now=at(5),
    )
    usage.roll_up()
    ((key, figures),) = lost().items()
    assert key == (vision.pk, Cause.IDLE)
    # 0.99 x 12,000
    assert figures == (1, 0, 11_880)


def test_a_completed_job_bears_its_share_of_those_that_did_not(pool: Pool) -> None:
    vision = builders.a_team("vision")
    for name, state, hours, charge in (
        ("one", WorkloadState.SUCCEEDED, 4, "guaranteed"),  # 48,000
        ("two", WorkloadState.SUCCEEDED, 2, "borrowed"),  # 12,000
        ("three", WorkloadState.FAILED, 1, "guaranteed"),  # 12,000
    ):
        job = a_job(vision, pool, name, state, at(14), kind=Kind.TRAINING)
        held(job, at(10), hours, charge)
    late = a_job(vision, pool, "late", WorkloadState.CANCELLED, at(20), kind=Kind.BATCH)
    held(late, at(14, 23), 2)  # an hour at 12,000 and one at 6,000
    found = selectors.list_job_costs(from_at=MONTH_STARTS, to_at=MONTH_ENDS)
    assert found.currency == "KRW"
    training, batch = found.rows
    assert (training.completed, training.not_completed) == (2, 1)
    assert training.amount_micro == 72_000 * WON
    assert training.each_micro == 36_000 * WON
    assert training.gpu_milli_seconds_lost == HOUR
    assert (batch.completed, batch.each_micro, batch.amount_micro) == (0, None, 18_000 * WON)


def test_the_page_shows_a_lead_their_team_and_no_other(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: at(20))
    vision, search = builders.a_team("vision"), builders.a_team("search")
    for team in (vision, search):
        job = a_job(team, pool, f"{team.slug}-secret", WorkloadState.FAILED, at(2))
        held(job, at(1), 3)
        a_closed_pod(job, pool, at(1, 3), 3)
    client.force_login(builders.a_user("minji", Role.LEAD, vision))
    for by in ("team", "workload", "person", "model"):
        page = client.get(f"/costs/use/?month=2026-11&by={by}").content.decode()
        assert "Vision" in page
        assert "Search" not in page
        assert "search-secret" not in page
    assert "vision-secret" in client.get("/costs/use/?month=2026-11&by=workload").content.decode()
    rows = client.get("/api/v1/use/jobs?from=2026-11-01T00:00:00Z").json()["results"]
    assert [row["team"] for row in rows] == [vision.pk]
    rows = client.get("/api/v1/use/lost?from=2026-10-31T00:00:00Z").json()["results"]
    assert [(row["team"], row["cause"]) for row in rows] == [(vision.pk, "failed")]


def test_the_list_of_use_is_a_file_for_programs(
    client: Client, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.common.clock.now", lambda: at(20))
    job = builders.a_workload(builders.a_team("vision"), pool)
    held(job, at(1), 3)
    client.force_login(builders.a_user("boram", Role.FINANCE))
    answer = client.get("/costs/use/?month=2026-11&by=pool&format=csv")
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert text.splitlines()[1] == "h100,3.000000,0.000000,0.000000,0.000000,"
