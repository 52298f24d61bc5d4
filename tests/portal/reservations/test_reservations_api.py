"""Reservations over the API: who sees what, and who may end one."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.test import Client

from portal.common import clock
from portal.common.models import AuditEvent
from portal.reservations import services
from portal.reservations.models import Reservation
from portal.teams.models import Role, Team
from tests.builders import a_pool, a_team, a_user

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def passing(now: datetime, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the organisation's time to so many hours after the start."""

    def at(hours: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: now + hours * HOUR)

    at(0)
    return at


@pytest.fixture
def team() -> Team:
    return a_team()


@pytest.fixture
def booked(team: Team, now: datetime, passing: Callable[[int], None]) -> Reservation:
    return services.hold(
        team_id=team.pk, pool_id=a_pool(nodes=2).pk, gpus=8, starts_at=now + 2 * HOUR,
        ends_at=now + 6 * HOUR, zone="Asia/Seoul", purpose="Secret ablation", request_id=3,
        actor_id=a_user("author").pk, now=now,
    )  # fmt: skip


def signed_in(client: Client, role: Role, team: Team | None) -> Client:
    client.force_login(a_user(f"{role}-{team}", role=role, team=team))
    return client


@pytest.mark.parametrize("role", [Role.MEMBER, Role.LEAD, Role.ADMIN, Role.AUDITOR])
def test_the_branch_sees_what_for_and_who(
    client: Client, booked: Reservation, team: Team, role: Role
) -> None:
    body = signed_in(client, role, team).get(f"/api/v1/reservations/{booked.pk}").json()
    assert (body["purpose"], body["created_by"]) == ("Secret ablation", booked.created_by_id)
    assert (body["team"]["name"], body["gpus"], body["state"], body["request"]) == (
        "Vision", 8, "pending", 3,
    )  # fmt: skip
    assert (body["starts_at"], body["zone"]) == ("2026-11-02T02:00:00Z", "Asia/Seoul")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.LEAD, Role.FINANCE])
def test_others_see_the_block_alone(client: Client, booked: Reservation, role: Role) -> None:
    signed_in(client, role, a_team("speech"))
    detail = client.get(f"/api/v1/reservations/{booked.pk}").json()
    (listed,) = client.get("/api/v1/reservations").json()["results"]
    for shown in (detail, listed):
        assert shown["gpus"] == 8
        assert "purpose" not in shown
        assert "created_by" not in shown


def test_the_list_filters_and_pages(client: Client, booked: Reservation, team: Team) -> None:
    signed_in(client, Role.MEMBER, team)

    def count(**given: str | int) -> int:
        return int(client.get("/api/v1/reservations", given).json()["count"])

    assert count() == count(team=team.pk) == count(pool=booked.pool_id) == 1
    assert count(state="pending") == 1
    assert count(state="active") == count(team=404) == count(pool=404) == 0
    assert count(**{"from": "2026-11-02T06:00:00Z"}) == 0
    assert count(to="2026-11-02T02:00:00Z") == 0
    assert count(**{"from": "2026-11-02T05:00:00Z", "to": "2026-11-02T06:00:00Z"}) == 1
    assert client.get("/api/v1/reservations", {"state": "odd"}).status_code == 422


@pytest.mark.parametrize("role", [Role.LEAD, Role.ADMIN])
def test_a_lead_or_admin_of_the_team_calls_it_off_once(
    client: Client, booked: Reservation, team: Team, role: Role
) -> None:
    signed_in(client, role, team)
    url = f"/api/v1/reservations/{booked.pk}/cancel"
    first, again = (
        client.post(url, {}, content_type="application/json", headers={"Idempotency-Key": "k"})
        for _ in range(2)
    )
    assert (first.status_code, first.json()["state"]) == (200, "cancelled")
    assert again.json() == first.json()
    assert AuditEvent.objects.filter(action="reservations.cancelled").count() == 1


def test_what_is_open_is_given_back(
    client: Client, booked: Reservation, team: Team, passing: Callable[[int], None]
) -> None:
    signed_in(client, Role.LEAD, team)
    url = f"/api/v1/reservations/{booked.pk}/give-back"
    early = client.post(url, {}, content_type="application/json")
    assert (early.status_code, early.json()["code"]) == (409, "not_begun")
    passing(3)
    body = client.post(url, {}, content_type="application/json").json()
    assert (body["state"], body["ends_at"]) == ("released", "2026-11-02T03:00:00Z")
    assert body["planned_ends_at"] == "2026-11-02T06:00:00Z"
    passing(9)
    late = client.post(
        f"/api/v1/reservations/{booked.pk}/cancel", {}, content_type="application/json"
    )
    assert (late.status_code, late.json()["code"]) == (409, "state")


@pytest.mark.parametrize("verb", ["cancel", "give-back"])
def test_an_id_alone_ends_nobodys_booking_blazar_2120655(
    client: Client, booked: Reservation, team: Team, verb: str
) -> None:
    other = a_team("speech")
    for role, of in (
        (Role.LEAD, other), (Role.ADMIN, other), (Role.MEMBER, team), (Role.FINANCE, None),
        (Role.AUDITOR, None),
    ):  # fmt: skip
        signed_in(client, role, of)
        url = f"/api/v1/reservations/{booked.pk}/{verb}"
        refused = client.post(url, {}, content_type="application/json")
        unknown = client.post(
            f"/api/v1/reservations/404/{verb}", {}, content_type="application/json"
        )
        assert refused.status_code == unknown.status_code == 404
        assert refused.json() == unknown.json()
    booked.refresh_from_db()
    assert booked.state == "pending"


def test_an_unknown_booking_is_not_found(client: Client, team: Team) -> None:
    signed_in(client, Role.MEMBER, team)
    assert client.get("/api/v1/reservations/404").status_code == 404
