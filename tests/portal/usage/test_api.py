"""Everybody sees the use of the teams they have a role in, and no other."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from portal.teams.models import Role, User
from tests import builders

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
PERIOD = "from=2026-11-02T12:00:00Z&to=2026-11-02T13:00:00Z"


@pytest.fixture
def world(db: None) -> dict[str, int]:
    """Vision used 2 GPUs for an hour, speech 1 for half of it, nobody's work 1 for an hour."""
    pool = builders.a_pool(nodes=1)
    vision, speech = builders.a_team("vision"), builders.a_team("speech")
    builders.use(vision, pool, NOON, NOON + timedelta(hours=1), gpus=2)
    builders.use(speech, pool, NOON, NOON + timedelta(minutes=30), charged_to="borrowed")
    builders.use(None, pool, NOON, NOON + timedelta(hours=1))
    builders.a_user("minji", Role.MEMBER, vision)
    builders.a_user("jihye", Role.ADMIN)
    return {"vision": vision.pk, "speech": speech.pk, "pool": pool.pk}


def ask(client: Client, username: str, more: str = "") -> list[dict[str, object]]:
    """The results somebody gets."""
    client.force_login(User.objects.get(username=username))
    response = client.get(f"/api/v1/usage?{PERIOD}{more}")
    assert response.status_code == 200
    results: list[dict[str, object]] = response.json()["results"]
    return results


def test_a_member_sees_their_own_team(client: Client, world: dict[str, int]) -> None:
    (row,) = ask(client, "minji")
    assert row == {
        "team": {"id": world["vision"], "name": "Vision"},
        "pool": world["pool"],
        "charged_to": "guaranteed",
        "gpu_milli_seconds": 2000 * 3600,
    }


def test_an_admin_sees_all_and_the_work_of_nobody(client: Client, world: dict[str, int]) -> None:
    rows = ask(client, "jihye")
    teams = [None if r["team"] is None else r["team"]["name"] for r in rows]  # type: ignore[index]
    assert teams == [None, "Vision", "Speech"]
    assert [r["gpu_milli_seconds"] for r in rows] == [3600_000, 7200_000, 1800_000]


def test_asking_for_another_team_gives_nothing(client: Client, world: dict[str, int]) -> None:
    assert ask(client, "minji", f"&team={world['speech']}") == []
    assert len(ask(client, "jihye", f"&team={world['speech']}")) == 1


def test_a_period_that_ends_before_it_begins_is_refused(
    client: Client, world: dict[str, int]
) -> None:
    client.force_login(User.objects.get(username="jihye"))
    response = client.get("/api/v1/usage?from=2026-11-02T12:00:00Z&to=2026-11-01T12:00:00Z")
    assert response.status_code == 422
    assert "to" in response.json()["fields"]
