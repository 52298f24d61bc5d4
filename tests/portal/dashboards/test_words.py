"""What pages say of a forecast: between which moments, and how good such words have been."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from portal.dashboards import words
from portal.scheduling.selectors import OutlookRow, QueueRow, Score, Sentence

NOW = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def row(p50: int | None, p90: int | None, state: str = "waiting") -> QueueRow:
    """A job that is thought to start so many hours from now."""
    moments = [None if hours is None else NOW + hours * HOUR for hours in (p50, p90)]
    return QueueRow(
        id=1, visible=True, name="job", person="", kind="batch", team_id=None, team_name="",
        cluster_id=1, pool_id=None, pool_name="", tasks=1, gpu_milli=1000, state=state,
        submitted_at=NOW, scheduled_at=None, ended_at=None, verb="wait", reason="pool_full",
        detail={}, position=1, planned_start=None, charged_to="", sentence=Sentence(""),
        outlook=OutlookRow(NOW, *moments),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("p50", "p90", "said"),
    [
        (1, 3, "likely today 10:00–12:00 KST"),
        (1, 25, "likely today 10:00 – tomorrow 10:00 KST"),
        (1, 1, "likely about today 10:00 KST"),
        (1, None, "likely today 10:00 KST or later"),
        (-1, 3, "likely today 09:00–12:00 KST"),
        (-2, -1, "later than was forecast"),
        (None, None, ""),
    ],
)
def test_a_forecast_is_said_in_words(p50: int | None, p90: int | None, said: str) -> None:
    with timezone.override(ZoneInfo("Asia/Seoul")):
        assert words.outlook(row(p50, p90), NOW) == said


def test_what_runs_has_no_forecast() -> None:
    assert words.outlook(row(1, 3, state="running"), NOW) == ""


def test_few_forecasts_are_not_judged() -> None:
    assert words.score(Score(made=9, judged=4, median_error_seconds=60)) == ""
    many = Score(made=9, judged=8, by_p50=4, by_p90=7, median_error_seconds=600)
    assert words.score(many) == (
        "Of 8 jobs with a forecast, 50% had started by its first time and 88% by its last; half "
        "began within 10 m of the first."
    )
