"""The Usage page: sums by hand, scopes by role, and the time before."""

import csv
import io
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.dashboards import periods
from portal.dashboards.selectors import usage
from portal.dashboards.selectors.usage import By, Scope
from portal.teams import selectors as teams
from portal.teams.models import Team
from portal.usage.models import HourlyUse, StaleHour
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World

HOUR = timedelta(hours=1)
GPU_HOUR = 3_600_000


def held(
    world: World, team: Team | None, at: datetime, gpus: int, *, measured: int = 0, used: int = 0,
    charged_to: str = "guaranteed",
) -> None:  # fmt: skip
    """So many GPUs for one hour."""
    HourlyUse.objects.create(
        hour=at, cluster=world.pool.cluster, pool=world.pool, team=team,
        workload_id=world.running.pk, gpu_model="H100", charged_to=charged_to,
        gpu_milli_seconds=gpus * GPU_HOUR, measured_milli_seconds=measured * GPU_HOUR,
        used_milli_seconds=used * GPU_HOUR,
    )  # fmt: skip


@pytest.fixture
def used(world: World) -> World:
    """Vision held 8 for two hours and 4 the day before; Speech 2; nobody's work 1."""
    noon = world.now.replace(minute=0, second=0, microsecond=0)
    held(world, world.vision, noon - 3 * HOUR, 8, measured=8, used=6)
    held(world, world.vision, noon - 2 * HOUR, 8, charged_to="borrowed")
    held(world, world.speech, noon - 3 * HOUR, 2)
    held(world, None, noon - 2 * HOUR, 1)
    held(world, world.vision, noon - 27 * HOUR, 4)
    held(world, world.speech, noon - 60 * HOUR, 9)
    return world


def test_groups_are_summed_and_set_beside_the_time_before(used: World) -> None:
    now = used.now.replace(minute=0, second=0, microsecond=0)
    window = periods.cut(now - timedelta(days=1), now, "UTC")
    tree = teams.get_tree(now=used.now)
    found = usage.get_use(By.TEAM, window, Scope(), tree=tree, lines=7)
    assert [(r.label, r.hours, r.hours_before) for r in found.rows] == [
        ("Vision", 16.0, 4.0), ("Speech", 2.0, 0.0), ("no team", 1.0, 0.0),
    ]  # fmt: skip
    assert (found.rows[0].change, found.rows[0].percent_used) == (300.0, 75.0)
    assert found.rows[0].idle_hours == 2.0
    assert [a.held // GPU_HOUR for a in found.of_key[used.vision.pk][21:] if a] == [8, 8, 0]
    assert sum(a.held for a in found.before if a) == 4 * GPU_HOUR


def test_a_department_holds_what_its_teams_hold(used: World) -> None:
    now = used.now.replace(minute=0, second=0, microsecond=0)
    window = periods.cut(now - timedelta(days=1), now, "UTC")
    tree = teams.get_tree(now=used.now)
    found = usage.get_use(By.DEPARTMENT, window, Scope(), tree=tree, lines=7)
    assert (found.rows[0].label, found.rows[0].hours) == ("Research", 16.0)
    assert sum(a.held for a in found.of_key[used.research.pk] if a) == 16 * GPU_HOUR


def test_before_anything_was_recorded_there_is_a_gap(used: World) -> None:
    now = used.now.replace(minute=0, second=0, microsecond=0)
    window = periods.cut(now - timedelta(days=7), now, "UTC")
    found = usage.get_use(By.POOL, window, Scope(), tree=teams.get_tree(now=used.now), lines=7)
    assert found.total[0] is None
    assert found.total[-1] is not None
    assert found.rows[0].before is None


@pytest.mark.parametrize("by", list(By))
def test_it_answers_in_at_most_fifteen_queries_however_it_is_grouped(used: World, by: By) -> None:
    client = Client()
    client.force_login(used.people["admin"])
    client.get("/usage/")
    path = f"/usage/?by={by.value}&team={used.vision.pk}&pool={used.pool.pk}&kind=training"
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    assert len(queries) <= 15, [q["sql"][:90] for q in queries]


def test_a_member_sees_the_use_of_the_own_team_alone(used: World) -> None:
    page = text(get(used, "member", "/usage/?period=day"))
    assert "16.0 GPU-hours were held" in page
    assert "Speech" not in page
    assert "no team" not in page
    assert "no team" in text(get(used, "admin", "/usage/?period=day"))


def test_finance_sees_sums_of_all_and_neither_people_nor_jobs(used: World) -> None:
    assert "19.0 GPU-hours were held" in text(get(used, "finance", "/usage/?period=day"))
    assert "Nothing was used in this time" in text(
        get(used, "finance", "/usage/?period=day&by=workload")
    )


def test_a_team_one_may_not_see_cannot_be_asked_for(used: World) -> None:
    page = text(get(used, "member", f"/usage/?period=day&team={used.speech.pk}"))
    assert "16.0 GPU-hours were held" in page


def test_the_file_holds_every_group_with_plain_figures(used: World) -> None:
    answer = get(used, "admin", "/usage/?period=day&format=csv")
    body = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.reader(io.StringIO(body)))
    assert rows[0][:4] == ["Team or project", "Part", "GPU-hours", "the time before"]
    assert [row[0] for row in rows[1:]] == ["Vision", "Speech", "no team"]
    assert rows[1][2:7] == ["16.0", "4.0", "300.0", "75.0", "2.0"]


def test_hours_that_are_summed_anew_are_said(used: World) -> None:
    StaleHour.objects.create(
        cluster=used.pool.cluster,
        hour=used.now.replace(minute=0, second=0, microsecond=0) - 2 * HOUR,
    )
    assert "1 hour is being summed anew" in text(get(used, "admin", "/usage/?period=day"))
