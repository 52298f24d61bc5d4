"""Quotas over the API."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from portal.common import clock
from portal.quotas import services
from portal.teams.models import Role
from tests.builders import a_pool, a_team, a_user

pytestmark = pytest.mark.django_db


def test_figures_are_open_to_the_organisation_at_any_instant(
    client: Client, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: now)
    pool, vision, speech = a_pool(nodes=2), a_team("vision"), a_team("speech")
    for team, guaranteed, days in ((vision, 8, 0), (speech, 4, 0), (vision, 6, 3)):
        services.change(
            team_id=team.pk, pool_id=pool.pk, guaranteed=guaranteed, limit=12,
            valid_from=now + timedelta(days=days), actor_id=None, now=now,
        )  # fmt: skip
    client.force_login(a_user(role=Role.MEMBER, team=speech))
    body = client.get("/api/v1/quotas").json()
    assert body["count"] == 2
    assert [(q["team"]["name"], q["guaranteed"], q["limit"]) for q in body["results"]] == [
        ("Vision", 8, 12), ("Speech", 4, 12),
    ]  # fmt: skip
    later: dict[str, str | int] = {"team": vision.pk, "pool": pool.pk, "at": "2026-11-06T00:00:00Z"}
    (found,) = client.get("/api/v1/quotas", later).json()["results"]
    assert (found["guaranteed"], found["valid_from"]) == (6, "2026-11-05T00:00:00Z")
    assert client.get("/api/v1/quotas", {"at": "soon"}).status_code == 422


def test_without_a_role_there_are_no_figures(client: Client) -> None:
    assert client.get("/api/v1/quotas").status_code == 401
    client.force_login(a_user("outsider"))
    assert client.get("/api/v1/quotas").status_code == 404
