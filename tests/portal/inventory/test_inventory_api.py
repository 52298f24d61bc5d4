"""Pools, calendars, nodes and conflicts over the API."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from portal.common import clock
from portal.inventory import services
from portal.inventory.models import CommitmentKind, Pool
from portal.teams.models import Role, Team
from tests.builders import a_cluster, a_pool, a_team, a_user

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def _clock_stands(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: now)


@pytest.fixture
def pool() -> Pool:
    return a_pool(nodes=2)


def first_node(pool: Pool) -> int:
    return pool.nodes.values_list("pk", flat=True)[0]


@pytest.fixture
def team() -> Team:
    return a_team()


@pytest.fixture
def member(client: Client, team: Team) -> Client:
    """A member of some other team: the calendar is open to the organisation."""
    client.force_login(a_user(role=Role.MEMBER, team=a_team("speech")))
    return client


def book(pool: Pool, team: Team, now: datetime, start: timedelta, end: timedelta) -> None:
    services.commit(
        pool_id=pool.pk, kind=CommitmentKind.RESERVATION, source_id=9, team_id=team.pk, gpus=4,
        gpus_per_node=2, starts_at=now + start, ends_at=now + end, now=now,
    )  # fmt: skip


def get(client: Client, path: str, **given: str | int) -> Any:
    response = client.get(f"/api/v1/{path}", given)
    assert response.status_code == 200, response.content
    return response.json()


def test_pools_are_listed_with_what_is_left(
    member: Client, pool: Pool, team: Team, now: datetime
) -> None:
    book(pool, team, now, timedelta(0), HOUR)
    a_pool("t4", cluster=a_cluster("far"), nodes=1, gpus=2)
    body = get(member, "pools")
    assert body["count"] == 2
    found = {row["name"]: (row["gpus"], row["committed"], row["free"]) for row in body["results"]}
    assert found == {"h100": (16, 4, 12), "t4": (2, 0, 2)}
    assert get(member, "pools", cluster=pool.cluster_id)["count"] == 1
    assert get(member, f"pools/{pool.pk}")["cluster"] == {"id": pool.cluster_id, "name": "lab"}


def test_an_unknown_pool_is_not_found(member: Client) -> None:
    for path in ("pools/404", "pools/404/calendar"):
        response = member.get(f"/api/v1/{path}")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_calendar_shows_steps_and_blocks_with_team_names(
    member: Client, pool: Pool, team: Team, now: datetime
) -> None:
    evening = timedelta(hours=14)  # 23:00 in Seoul: the block crosses midnight and stays one
    book(pool, team, now, evening, evening + 2 * HOUR)
    services.plan_maintenance(
        node_id=first_node(pool), starts_at=now + DAY, ends_at=now + 2 * DAY, now=now,
        actor_id=None, reason="New driver",
    )  # fmt: skip
    body = get(member, f"pools/{pool.pk}/calendar", **{"from": now.isoformat()})
    assert (body["from"], body["to"]) == ("2026-11-02T00:00:00Z", "2026-11-09T00:00:00Z")
    assert [(s["from"], s["gpus"]) for s in body["free"]] == [
        ("2026-11-02T00:00:00Z", 16),
        ("2026-11-02T14:00:00Z", 12),
        ("2026-11-02T16:00:00Z", 16),
        ("2026-11-03T00:00:00Z", 8),
        ("2026-11-04T00:00:00Z", 16),
    ]
    (block,) = body["blocks"]
    assert block == {
        "kind": "reservation", "team": {"id": team.pk, "name": "Vision"}, "quota": None,
        "reservation": 9, "gpus": 4, "gpus_per_node": 2, "adds": True,
        "starts_at": "2026-11-02T14:00:00Z", "ends_at": "2026-11-02T16:00:00Z",
    }  # fmt: skip
    assert [m["reason"] for m in body["maintenance"]] == ["New driver"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-11-02T00:00:00"}, "from"),
        ({"from": "2026-13-02T00:00:00Z"}, "from"),
        ({"to": "2026-11-01T00:00:00Z"}, "to"),
        ({"to": "2027-11-01T00:00:00Z"}, "to"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(
    member: Client, pool: Pool, given: dict[str, str], field: str
) -> None:
    response = member.get(f"/api/v1/pools/{pool.pk}/calendar", given)
    assert response.status_code == 422
    assert set(response.json()["fields"]) == {field}


def test_an_offset_may_be_written_as_it_is(member: Client, pool: Pool) -> None:
    url = f"/api/v1/pools/{pool.pk}/calendar?from=2026-11-02T09:00:00+09:00"
    assert member.get(url).json()["from"].startswith("2026-11-02T09:00:00")


def test_nodes_are_filtered_and_paged(member: Client, pool: Pool, now: datetime) -> None:
    services.node_down(node_id=first_node(pool), now=now, reason="NotReady")
    body = get(member, "nodes", page_size=1)
    assert (body["count"], len(body["results"])) == (2, 1)
    (down,) = get(member, "nodes", state="down")["results"]
    assert (down["condition"], down["down_since"]) == ("down", "2026-11-02T00:00:00Z")
    assert get(member, "nodes", pool=404)["count"] == 0
    assert member.get("/api/v1/nodes", {"pool": "x"}).status_code == 422
    assert member.get("/api/v1/nodes", {"state": "odd"}).status_code == 422


def test_conflicts_are_listed_with_their_blocks(
    member: Client, pool: Pool, team: Team, now: datetime
) -> None:
    book(pool, team, now, timedelta(0), DAY)
    for node in pool.nodes.all():
        services.remove_node(node_id=node.pk, now=now)
    by_measure = {row["measure"]: row for row in get(member, "conflicts")["results"]}
    found = by_measure["sum"]
    assert (found["cause"], found["capacity"], found["committed"], found["short"]) == (
        "capacity", 0, 4, 4,
    )  # fmt: skip
    assert [block["team"]["name"] for block in found["blocks"]] == ["Vision"]
    assert get(member, "conflicts", pool=404)["count"] == 0


def test_without_a_role_nothing_is_there(client: Client, pool: Pool) -> None:
    paths = ("pools", f"pools/{pool.pk}", f"pools/{pool.pk}/calendar", "nodes", "conflicts")
    for path in paths:
        assert client.get(f"/api/v1/{path}").status_code == 401
    client.force_login(a_user("outsider"))
    for path in paths:
        assert client.get(f"/api/v1/{path}").status_code == 404


def test_nothing_is_written_here(member: Client, pool: Pool) -> None:
    assert member.post("/api/v1/pools", {}).status_code in (404, 405)
