"""What may become of a booking: who wins the row moves it, and the past stays."""

from datetime import datetime, timedelta

import pytest

from portal.common.errors import Conflict, Missing
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory.models import Commitment, Pool
from portal.reservations import selectors, services
from portal.reservations.models import Reservation, ReservationState
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def pool() -> Pool:
    return a_pool(nodes=2)


@pytest.fixture
def team() -> Team:
    return a_team()


@pytest.fixture
def booked(pool: Pool, team: Team, now: datetime) -> Reservation:
    """Sixteen GPUs from the second hour to the sixth."""
    return services.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=16, starts_at=now + 2 * HOUR,
        ends_at=now + 6 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip


def free(pool: Pool, now: datetime, first: int, last: int) -> int:
    return inventory.free_gpus(pool_id=pool.pk, from_at=now + first * HOUR, to_at=now + last * HOUR)


def actions() -> list[str]:
    return list(AuditEvent.objects.values_list("action", flat=True))


def test_the_clock_opens_and_completes(booked: Reservation, now: datetime) -> None:
    moves = [services.open_and_close_due(now=now + hours * HOUR) for hours in (1, 2, 2, 5, 6, 6)]
    assert moves == [0, 1, 0, 0, 1, 0]
    booked.refresh_from_db()
    assert booked.state == ReservationState.COMPLETED
    assert actions() == ["reservations.held", "reservations.opened", "reservations.completed"]


def test_a_late_tick_opens_and_completes_at_once(booked: Reservation, now: datetime) -> None:
    assert services.open_and_close_due(now=now + 9 * HOUR) == 2
    booked.refresh_from_db()
    assert (booked.state, booked.ends_at) == (ReservationState.COMPLETED, now + 6 * HOUR)


def test_a_booking_called_off_frees_its_gpus(
    booked: Reservation, pool: Pool, now: datetime
) -> None:
    assert free(pool, now, 2, 6) == 0
    for _ in range(2):
        row = services.cancel(reservation_id=booked.pk, actor_id=3, now=now + HOUR)
        assert row.state == ReservationState.CANCELLED
    assert free(pool, now, 2, 6) == 16
    assert not Commitment.objects.exists()
    assert selectors.list_reservations(pool_id=pool.pk) == []
    assert actions() == ["reservations.held", "reservations.cancelled"]


def test_what_has_begun_cannot_be_called_off_even_before_the_tick_noticed_tensorhive_326(
    booked: Reservation, now: datetime
) -> None:
    with pytest.raises(Conflict) as refused:
        services.cancel(reservation_id=booked.pk, actor_id=None, now=now + 2 * HOUR)
    assert refused.value.code == "has_begun"
    booked.refresh_from_db()
    assert booked.state == ReservationState.PENDING


def test_what_is_given_back_is_free_from_then_on(
    booked: Reservation, pool: Pool, now: datetime
) -> None:
    first, row = (
        services.give_back(reservation_id=booked.pk, actor_id=3, now=now + 4 * HOUR)
        for _ in range(2)
    )
    assert first.ends_at == row.ends_at
    assert (row.state, row.ends_at) == (ReservationState.RELEASED, now + 4 * HOUR)
    assert row.planned_ends_at == now + 6 * HOUR
    assert (free(pool, now, 3, 4), free(pool, now, 4, 6)) == (0, 16)
    assert actions() == ["reservations.held", "reservations.opened", "reservations.given_back"]


def test_given_back_the_instant_it_opens_it_lasted_a_second(
    booked: Reservation, now: datetime
) -> None:
    row = services.give_back(reservation_id=booked.pk, actor_id=3, now=now + 2 * HOUR)
    assert row.ends_at == now + 2 * HOUR + timedelta(seconds=1)
    assert Commitment.objects.get().ends_at == row.ends_at


def test_what_has_not_begun_cannot_be_given_back(booked: Reservation, now: datetime) -> None:
    with pytest.raises(Conflict) as refused:
        services.give_back(reservation_id=booked.pk, actor_id=None, now=now + HOUR)
    assert refused.value.code == "not_begun"


def test_nothing_in_the_past_can_be_changed_tensorhive_331(
    booked: Reservation, pool: Pool, now: datetime
) -> None:
    before = Reservation.objects.values().get(), Commitment.objects.values().get()
    for move in (services.cancel, services.give_back):
        with pytest.raises(Conflict) as refused:
            move(reservation_id=booked.pk, actor_id=None, now=now + 6 * HOUR)
        assert refused.value.code == "over"
    assert (Reservation.objects.values().get(), Commitment.objects.values().get()) == before


def test_what_was_called_off_cannot_be_given_back(booked: Reservation, now: datetime) -> None:
    services.cancel(reservation_id=booked.pk, actor_id=None, now=now)
    with pytest.raises(Conflict) as refused:
        services.give_back(reservation_id=booked.pk, actor_id=None, now=now + 3 * HOUR)
    assert refused.value.code == "state"
    assert services.open_and_close_due(now=now + 3 * HOUR) == 0


def test_an_unknown_booking_is_missing(now: datetime) -> None:
    for move in (services.cancel, services.give_back):
        with pytest.raises(Missing):
            move(reservation_id=404, actor_id=None, now=now)


def test_a_refused_move_leaves_a_healthy_lease_healthy_blazar_1786031(
    booked: Reservation, pool: Pool, team: Team, now: datetime
) -> None:
    services.open_and_close_due(now=now + 3 * HOUR)
    with pytest.raises(Conflict):
        services.cancel(reservation_id=booked.pk, actor_id=None, now=now + 3 * HOUR)
    with pytest.raises(Conflict):
        services.hold(
            team_id=team.pk, pool_id=pool.pk, gpus=1, starts_at=now + 3 * HOUR,
            ends_at=now + 4 * HOUR, zone="Asia/Seoul", actor_id=None, now=now + 3 * HOUR,
        )  # fmt: skip
    booked.refresh_from_db()
    assert booked.state == ReservationState.ACTIVE
    assert selectors.list_open(at=now + 3 * HOUR)[0].id == booked.pk
