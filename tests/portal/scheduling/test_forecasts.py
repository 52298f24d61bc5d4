"""Forecasts: made of what is known, kept when they move, and held against what happened."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.inventory.models import Pool
from portal.scheduling import foreseeing, selectors, services
from portal.scheduling.models import Forecast, Tick, TickState
from portal.scheduling.selectors import OutlookRow, Score
from portal.teams import selectors as teams
from portal.teams.models import Role, Team
from portal.workloads.models import StageEvent, Workload, WorkloadState
from tests import builders

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@dataclass
class Lab:
    """A node held whole for another half an hour, as its owner said, and one job that waits."""

    now: datetime
    team: Team = field(default_factory=builders.a_team)
    pool: Pool = field(default_factory=lambda: builders.a_pool(nodes=1, gpus=4))

    def __post_init__(self) -> None:
        builders.a_quota(self.team, self.pool, guaranteed=4)
        self.runs = self.job("runs", state=WorkloadState.RUNNING, duration_seconds=3600)
        builders.a_pod(self.runs, self.pool.nodes.get(), scheduled_at=self.now - 30 * MINUTE)
        self.waits = self.job("waits", duration_seconds=600)

    def job(self, name: str, **columns: Any) -> Workload:
        return builders.a_workload(self.team, self.pool, name, gpu_milli=4000, **columns)

    def past(self, announced: int | None, *took: int) -> None:
        """Jobs that ran so many seconds."""
        for number, seconds in enumerate(took):
            ended = self.now - DAY - number * MINUTE
            self.job(
                f"past-{announced}-{number}", state=WorkloadState.SUCCEEDED, ended_at=ended,
                duration_seconds=announced, scheduled_at=ended - timedelta(seconds=seconds),
            )  # fmt: skip

    def forecast(self, after: timedelta = timedelta()) -> int:
        return services.make_forecasts(cluster_id=self.pool.cluster_id, now=self.now + after)

    def begins(self, after: timedelta) -> None:
        """The waiting job takes its GPUs."""
        Workload.objects.filter(pk=self.waits.pk).update(state=WorkloadState.RUNNING)
        StageEvent.objects.create(
            workload=self.waits, at=self.now + after, state=WorkloadState.STARTING
        )

    def in_minutes(self) -> list[tuple[float | None, float | None]]:
        """From now to the moments of each forecast, oldest first."""
        return [
            (self._minutes(row.p50), self._minutes(row.p90))
            for row in Forecast.objects.order_by("id")
        ]

    def _minutes(self, at: datetime | None) -> float | None:
        return None if at is None else (at - self.now) / MINUTE


@pytest.fixture
def lab(now: datetime) -> Lab:
    return Lab(now)


def test_without_history_owners_are_taken_at_their_word(lab: Lab) -> None:
    assert lab.forecast() == 1
    assert lab.in_minutes() == [(30, 30)]


def test_owners_who_were_wrong_before_widen_the_outlook(lab: Lab) -> None:
    lab.past(100, *[75] * 8, 200, 200)
    lab.forecast()
    ((p50, p90),) = lab.in_minutes()
    assert (p50, p90) == (15, 90)


def test_our_own_guess_is_judged_by_what_guesses_were_worth(lab: Lab) -> None:
    Workload.objects.filter(pk=lab.runs.pk).update(duration_seconds=None)
    # Nine in ten took at most 4,000 s, so that is the guess; most took half of it.
    lab.past(None, *[2000] * 8, 4000, 4000)
    lab.past(100, *[1000] * 3)
    lab.forecast()
    ((p50, p90),) = lab.in_minutes()
    assert p50 is not None
    assert round(p50) == round(2000 / 60 - 30)
    assert p90 is not None
    assert round(p90) in (round(2000 / 60 - 30), round(4000 / 60 - 30))


def test_an_end_that_nobody_knows_leaves_no_outlook(lab: Lab) -> None:
    Workload.objects.filter(pk=lab.runs.pk).update(duration_seconds=None)
    lab.forecast()
    assert lab.in_minutes() == [(None, None)]


def test_a_row_is_written_only_when_the_outlook_moved(lab: Lab) -> None:
    assert [lab.forecast(), lab.forecast(MINUTE)] == [1, 0]
    Workload.objects.filter(pk=lab.runs.pk).update(duration_seconds=3660)
    assert lab.forecast(2 * MINUTE) == 1
    assert list(Forecast.objects.values_list("first", flat=True)) == [True, False]


def test_what_starts_at_once_is_no_forecast(lab: Lab) -> None:
    lab.runs.pods.update(closed_at=lab.now)
    Workload.objects.filter(pk=lab.runs.pk).update(state=WorkloadState.SUCCEEDED)
    assert lab.forecast() == 0


def test_the_start_is_written_beside_every_forecast_of_that_wait(lab: Lab) -> None:
    lab.forecast()
    Workload.objects.filter(pk=lab.runs.pk).update(duration_seconds=4000)
    lab.forecast(MINUTE)
    lab.begins(29 * MINUTE)
    lab.forecast(35 * MINUTE)
    starts = {row.started_at for row in Forecast.objects.all()}
    assert starts == {lab.now + 29 * MINUTE}


def test_a_job_that_was_stopped_waits_a_second_time_with_a_forecast_of_its_own(lab: Lab) -> None:
    lab.forecast()
    lab.begins(5 * MINUTE)
    lab.forecast(6 * MINUTE)
    Workload.objects.filter(pk=lab.waits.pk).update(state=WorkloadState.WAITING)
    lab.forecast(10 * MINUTE)
    rows = Forecast.objects.order_by("id")
    assert [(row.first, row.started_at is None) for row in rows] == [(True, False), (True, True)]


def test_forecasts_of_what_never_started_are_forgotten(lab: Lab) -> None:
    lab.forecast()
    Workload.objects.filter(pk=lab.waits.pk).update(state=WorkloadState.CANCELLED)
    lab.forecast(MINUTE)
    assert not Forecast.objects.exists()


def test_first_forecasts_are_kept_longest(lab: Lab) -> None:
    for first in (True, False):
        Forecast.objects.create(workload=lab.waits, made_at=lab.now, first=first, grace_seconds=60)
    assert foreseeing.prune(now=lab.now + 2 * DAY) == 0
    assert foreseeing.prune(now=lab.now + 3 * DAY) == 1
    assert foreseeing.prune(now=lab.now + 400 * DAY) == 0
    assert services.prune(now=lab.now + 401 * DAY)["forecasts"] == 1


def test_ticks_far_apart_are_no_fault_of_the_forecast(lab: Lab) -> None:
    for at in (lab.now - 20 * MINUTE, lab.now - 5 * MINUTE):
        Tick.objects.create(
            cluster=lab.pool.cluster, at=at, state=TickState.DONE, started_real_at=at
        )
    lab.forecast()
    assert Forecast.objects.get().grace_seconds == 900


def judged(lab: Lab, minutes: int | None, p50: int | None = 10, p90: int | None = 20) -> None:
    """A first forecast for ten to twenty minutes, and a start so many minutes from now."""
    after = {"p50": p50, "p90": p90, "started_at": minutes}
    moments = {key: None if m is None else lab.now + m * MINUTE for key, m in after.items()}
    job = lab.job(f"judged-{Forecast.objects.count()}")
    Forecast.objects.create(workload=job, made_at=lab.now, first=True, grace_seconds=60, **moments)


def test_forecasts_are_scored_by_who_started_when_and_who_still_waits(lab: Lab) -> None:
    for minutes in (4, 11, 12, 25, None):
        judged(lab, minutes)
    judged(lab, None, p50=None, p90=None)
    early = selectors.get_score(since=lab.now - DAY, now=lab.now + 15 * MINUTE)
    late = selectors.get_score(since=lab.now - DAY, now=lab.now + 40 * MINUTE)
    # A minute late is on time; the one that still waits is late once its last moment is past.
    assert (early.judged, early.by_p50, early.by_p90) == (4, 2, 3)
    assert late == Score(
        made=6, unsaid=1, judged=5, by_p50=2, by_p90=3, median_error_seconds=6 * 60
    )
    assert (late.p50_pct, late.p90_pct) == (40, 60)
    assert selectors.get_score(since=lab.now - DAY, now=lab.now) == Score()


def test_scores_stand_by_team_and_pool(lab: Lab) -> None:
    judged(lab, 4)
    other = builders.a_team("speech")
    Forecast.objects.create(
        workload=builders.a_workload(other, lab.pool, "other"), made_at=lab.now, first=True,
        grace_seconds=60,
    )  # fmt: skip
    asked = {"since": lab.now - DAY, "now": lab.now + DAY}
    rows = selectors.list_scores(**asked)  # type: ignore[arg-type]
    found = [(r.team_name, r.pool_name, r.score.judged, r.score.unsaid) for r in rows]
    assert found == [("Vision", lab.pool.name, 1, 0), ("Speech", lab.pool.name, 0, 1)]
    of_team = selectors.get_score(**asked, team_id=other.pk)  # type: ignore[arg-type]
    assert of_team.made == 1


def test_the_queue_tells_the_newest_outlook_of_what_waits(lab: Lab) -> None:
    lab.forecast()
    Workload.objects.filter(pk=lab.runs.pk).update(duration_seconds=7200)
    lab.forecast(MINUTE)
    user = builders.a_user("jihye", role=Role.ADMIN)
    access = teams.get_access(user_id=user.pk, now=lab.now)
    rows = selectors.queue_rows(selectors.list_queue(access), access)
    end = lab.now + 90 * MINUTE
    assert {row.title: row.outlook for row in rows} == {
        "runs": None,
        "waits": OutlookRow(lab.now + MINUTE, end, end),
    }
