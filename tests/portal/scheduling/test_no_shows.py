"""Reservations nobody came for are given back after the pool's grace."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory.models import Pool
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, ReservationState
from portal.reservations.rules import Rules
from portal.scheduling import no_shows
from tests import builders

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def pool(now: datetime) -> Pool:
    pool = builders.a_pool(nodes=2)
    reservations.set_rules(pool_id=pool.pk, figures=Rules(grace_minutes=30), actor_id=None, now=now)
    return pool


@pytest.fixture
def booked(pool: Pool, now: datetime) -> Reservation:
    """Four GPUs from now for four hours."""
    row = reservations.hold(
        team_id=builders.a_team().pk, pool_id=pool.pk, gpus=4, starts_at=now,
        ends_at=now + 4 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip
    reservations.open_and_close_due(now=now)
    return row


def test_an_empty_one_is_given_back_after_the_grace_and_not_before(
    pool: Pool, booked: Reservation, now: datetime
) -> None:
    """Bartzi/LabShare 92: unused bookings block others."""
    assert no_shows.give_back_unused(now=now + 29 * MINUTE) == 0
    assert no_shows.give_back_unused(now=now + 30 * MINUTE) == 1
    assert no_shows.give_back_unused(now=now + 31 * MINUTE) == 0
    booked.refresh_from_db()
    assert (booked.state, booked.ends_at) == (ReservationState.RELEASED, now + 30 * MINUTE)
    free = inventory.free_gpus(pool_id=pool.pk, from_at=now + HOUR, to_at=now + 2 * HOUR)
    assert free == 16
    told = AuditEvent.objects.get(action="reservations.given_back")
    assert (told.actor_id, told.data["why"]) == (None, "no_show")


@pytest.mark.parametrize("came", ["waits in it", "is counted to it", "was counted to it"])
def test_one_that_somebody_came_for_stays(
    pool: Pool, booked: Reservation, now: datetime, came: str
) -> None:
    named: dict[str, Any] = {"reservation": booked} if came == "waits in it" else {}
    job = builders.a_workload(booked.team, pool, **named)
    if came != "waits in it":
        closed_at = now + 10 * MINUTE if came == "was counted to it" else None
        builders.a_pod(
            job, pool.nodes.first(), scheduled_at=now + MINUTE, charged_to="reserved",
            closed_at=closed_at,
        )  # fmt: skip
    assert no_shows.give_back_unused(now=now + 2 * HOUR) == 0


def test_a_pool_without_a_grace_keeps_them(booked: Reservation, pool: Pool, now: datetime) -> None:
    reservations.set_rules(pool_id=pool.pk, figures=Rules(), actor_id=None, now=now)
    assert no_shows.give_back_unused(now=now + 3 * HOUR) == 0
