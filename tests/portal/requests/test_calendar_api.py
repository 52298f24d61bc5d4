"""Calendar feeds and a look at planned work, asked for by programs."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from portal.common.models import IdempotencyKey
from portal.inventory.models import MaintenanceWindow
from portal.reservations import services as reservations
from portal.reservations.models import CalendarFeed
from tests.portal.requests.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_now")]
JSON = "application/json"
HOUR = timedelta(hours=1)


def test_a_program_opens_a_feed_reads_it_and_revokes_it(client: Client, world: World) -> None:
    client.force_login(world.lead)
    address = f"/api/v1/teams/{world.vision.pk}/calendar-feeds"
    made = client.post(address, {"name": "Wall display"}, content_type=JSON)
    assert made.status_code == 201
    calendar = made.json()["address"]
    assert Client().get(calendar).content.startswith(b"BEGIN:VCALENDAR")
    listed = client.get(address).json()["results"]
    assert [(row["name"], row["created_by"]) for row in listed] == [("Wall display", world.lead.pk)]
    assert "address" not in listed[0]
    revoke = f"/api/v1/calendar-feeds/{listed[0]['id']}/revoke"
    assert client.post(revoke, content_type=JSON).status_code == 200
    assert Client().get(calendar).status_code == 404
    assert client.get(address).json()["count"] == 0


def test_a_feed_needs_a_name_and_an_address_is_never_kept_to_be_repeated(
    client: Client, world: World
) -> None:
    client.force_login(world.lead)
    address = f"/api/v1/teams/{world.vision.pk}/calendar-feeds"
    assert client.post(address, {"name": ""}, content_type=JSON).status_code == 400
    assert not CalendarFeed.objects.exists()
    key = {"Idempotency-Key": "once"}
    first = client.post(address, {"name": "a"}, content_type=JSON, headers=key).json()
    again = client.post(address, {"name": "a"}, content_type=JSON, headers=key).json()
    assert CalendarFeed.objects.count() == 1
    secret = first.pop("address").rsplit("/", 1)[1].removesuffix(".ics")
    assert again["id"] == first["id"]
    assert "address" not in again
    kept = IdempotencyKey.objects.get().answer
    assert secret not in str(kept)


def test_a_program_sees_what_work_would_leave_no_room_for_and_plans_nothing(
    client: Client, world: World, now: datetime
) -> None:
    nodes = list(world.pool.nodes.values_list("pk", flat=True))
    reservations.hold(
        team_id=world.vision.pk, pool_id=world.pool.pk, gpus=4, starts_at=now + HOUR,
        ends_at=now + 5 * HOUR, zone="UTC", actor_id=None, now=now,
    )  # fmt: skip
    client.force_login(world.admin)
    body = {
        "nodes": nodes,
        "starts_at": f"{now + HOUR:%FT%TZ}",
        "ends_at": f"{now + 2 * HOUR:%FT%TZ}",
    }
    made = client.post("/api/v1/maintenance/effects", body, content_type=JSON).json()["conflicts"]
    assert {row["pool"]["name"] for row in made} == {"h100"}
    assert all(row["short"] > 0 and "h100" in row["sentence"] for row in made)
    assert not MaintenanceWindow.objects.exists()
    past = {**body, "starts_at": f"{now - 9 * HOUR:%FT%TZ}", "ends_at": f"{now - 8 * HOUR:%FT%TZ}"}
    assert client.post("/api/v1/maintenance/effects", past, content_type=JSON).status_code == 422
