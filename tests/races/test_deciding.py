"""Two people at the last GPUs: one gets them, the other is told why not, and nothing is lost."""

from datetime import datetime, timedelta

import pytest

from portal.inventory import selectors as inventory
from portal.inventory import services as inventory_services
from portal.inventory.models import Commitment, CommitmentKind, Node
from portal.inventory.services import SeenNode
from portal.quotas import services as quotas
from portal.requests import services as requests
from portal.requests.models import Request, RequestState
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, ReservationState
from portal.teams.models import Role
from tests import builders
from tests.portal.requests.world import World, a_submitted, a_submitted_quota, a_world
from tests.races.crowd import Crowd, words
from tests.races.sound import assert_sound

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def world(crowd: Crowd, now: datetime) -> World:
    """Sixteen GPUs, eight of them guaranteed; the rest anybody may reserve."""
    return a_world(now)


def _approve(world: World, row: Request, now: datetime) -> Request:
    return requests.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)


def test_of_two_approvals_of_the_last_gpus_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    rows = [a_submitted(world, now, gpus=5) for _ in range(2)]
    endings = crowd.at_once(*(lambda row=row: _approve(world, row, now) for row in rows))
    assert words(endings) == ["done", "overcommitted"]
    states = Request.objects.order_by("state").values_list("state", flat=True)
    assert list(states) == [RequestState.APPROVED, RequestState.SUBMITTED]
    assert Reservation.objects.get().gpus == 5
    assert_sound(now)


def test_of_two_approvals_within_a_teams_limit_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=4, limit=8, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip
    rows = [a_submitted(world, now, gpus=3) for _ in range(2)]
    endings = crowd.at_once(*(lambda row=row: _approve(world, row, now) for row in rows))
    assert words(endings) == ["above_limit", "done"]
    assert_sound(now)


def test_two_admins_approving_one_request_make_one_reservation(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = a_submitted(world, now)
    other = builders.a_user("other-admin", role=Role.ADMIN)
    endings = crowd.at_once(
        lambda: _approve(world, row, now),
        lambda: requests.approve(request_id=row.pk, actor_id=other.pk, now=now),
    )
    assert "done" in words(endings)
    assert Reservation.objects.count() == 1
    assert_sound(now)


def test_of_an_approval_and_a_quota_edit_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = a_submitted(world, now, gpus=6)
    endings = crowd.at_once(
        lambda: _approve(world, row, now),
        lambda: quotas.change(
            team_id=world.speech.pk, pool_id=world.pool.pk, guaranteed=7, limit=None,
            valid_from=now, actor_id=world.admin.pk, now=now,
        ),
    )  # fmt: skip
    assert words(endings) == ["done", "overcommitted"]
    assert_sound(now)


def test_of_two_approvals_of_one_teams_quota_the_later_counts_on_the_earlier(
    world: World, crowd: Crowd, now: datetime
) -> None:
    rows = [a_submitted_quota(world, now, guaranteed=gpus) for gpus in (10, 12)]
    endings = crowd.at_once(*(lambda row=row: _approve(world, row, now) for row in rows))
    assert words(endings) == ["done", "done"]
    held = inventory.committed_steps(pool_id=world.pool.pk, from_at=now, to_at=now + DAY)
    assert max(step.gpus for step in held) in (4 + 10, 4 + 12)
    assert_sound(now)


def test_of_an_approval_and_a_cancellation_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = a_submitted(world, now)
    approved, cancelled = crowd.at_once(
        lambda: _approve(world, row, now),
        lambda: requests.cancel(request_id=row.pk, actor_id=world.lead.pk, now=now),
    )
    assert (approved.word == "done") != (cancelled.word == "done")
    row.refresh_from_db()
    assert row.state == (
        RequestState.APPROVED if approved.word == "done" else RequestState.CANCELLED
    )
    assert Reservation.objects.count() == (approved.word == "done")
    assert_sound(now)


def test_of_an_approval_and_a_rejection_one_wins(world: World, crowd: Crowd, now: datetime) -> None:
    row = a_submitted(world, now)
    other = builders.a_user("other-admin", role=Role.ADMIN)
    endings = crowd.at_once(
        lambda: _approve(world, row, now),
        lambda: requests.reject(request_id=row.pk, note="No", actor_id=other.pk, now=now),
    )
    assert words(endings).count("done") == 1
    assert_sound(now)


def test_of_an_approval_and_its_lapse_one_wins(world: World, crowd: Crowd, now: datetime) -> None:
    row = a_submitted(world, now)
    assert row.expires_at is not None
    late = row.expires_at
    approved, lapsed = crowd.at_once(
        lambda: _approve(world, row, late - timedelta(seconds=1)),
        lambda: requests.expire_due(now=late),
    )
    assert (approved.word == "done") != (lapsed.value == 1)
    assert_sound(now)


def test_a_booking_and_the_loss_of_a_node_end_refused_or_shown_as_a_conflict(
    world: World, crowd: Crowd, now: datetime
) -> None:
    left = [
        SeenNode(name=node.name, pool=world.pool.name, gpus=8, cpu_milli=1, memory_mib=1)
        for node in Node.objects.order_by("name")[:1]
    ]
    booked, lost = crowd.at_once(
        lambda: reservations.hold(
            team_id=world.vision.pk, pool_id=world.pool.pk, gpus=6, starts_at=now + HOUR,
            ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        ),
        lambda: inventory_services.record_nodes(
            cluster_id=world.pool.cluster_id, seen=left, now=now
        ),
    )  # fmt: skip
    assert lost.word == "done"
    assert booked.word in ("done", "overcommitted")
    shown = inventory.list_conflicts(now=now)
    assert [row.short for row in shown] == ([6] if booked.word == "done" else [])
    assert_sound(now)


def test_called_off_and_opened_at_once_it_is_one_or_the_other_blazar_1791741(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = reservations.hold(
        team_id=world.vision.pk, pool_id=world.pool.pk, gpus=5, starts_at=now + HOUR,
        ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip
    called_off, _opened = crowd.at_once(
        lambda: reservations.cancel(reservation_id=row.pk, actor_id=None, now=now + HOUR / 2),
        lambda: reservations.open_and_close_due(now=now + HOUR),
    )
    row.refresh_from_db()
    if called_off.word == "done":
        assert row.state == ReservationState.CANCELLED
    else:
        assert (called_off.word, row.state) == ("has_begun", ReservationState.ACTIVE)
    assert_sound(now)


def test_many_bookings_at_once_never_overcommit_kubestellar_6957(
    world: World, crowd: Crowd, now: datetime
) -> None:
    endings = crowd.at_once(
        *(
            lambda: reservations.hold(
                team_id=world.speech.pk, pool_id=world.pool.pk, gpus=3, starts_at=now + HOUR,
                ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
            )
            for _ in range(6)
        )
    )  # fmt: skip
    assert words(endings) == ["done"] * 2 + ["overcommitted"] * 4
    assert_sound(now)


def test_quota_edits_and_bookings_at_once_never_overcommit(crowd: Crowd, now: datetime) -> None:
    pool = builders.a_pool(nodes=2)
    teams = [builders.a_team(f"team-{number}") for number in range(6)]

    def act(number: int) -> object:
        team = teams[number]
        if number % 2:
            return quotas.change(
                team_id=team.pk, pool_id=pool.pk, guaranteed=6, limit=None, valid_from=now,
                actor_id=None, now=now,
            )  # fmt: skip
        return reservations.hold(
            team_id=team.pk, pool_id=pool.pk, gpus=6, starts_at=now + HOUR,
            ends_at=now + 2 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        )  # fmt: skip

    endings = crowd.at_once(*(lambda number=number: act(number) for number in range(6)))
    assert words(endings) == ["done"] * 2 + ["overcommitted"] * 4
    assert_sound(now)


def test_a_reservation_given_back_and_another_booked_do_not_share_a_gpu(
    world: World, crowd: Crowd, now: datetime
) -> None:
    def book(starts_at: datetime) -> Reservation:
        return reservations.hold(
            team_id=world.speech.pk, pool_id=world.pool.pk, gpus=8, starts_at=starts_at,
            ends_at=now + 5 * HOUR, zone="Asia/Seoul", actor_id=None, now=now,
        )  # fmt: skip

    first = book(now)
    reservations.open_and_close_due(now=now)
    _given, booked = crowd.at_once(
        lambda: reservations.give_back(reservation_id=first.pk, actor_id=None, now=now + HOUR),
        lambda: book(now + 2 * HOUR),
    )
    assert booked.word in ("done", "overcommitted")
    promised = _promised_to_reservations(world.pool.pk, now + 3 * HOUR)
    assert promised == (8 if booked.word == "done" else 0)
    assert_sound(now + HOUR)


def _promised_to_reservations(pool_id: int, at: datetime) -> int:
    rows = Commitment.objects.filter(
        pool_id=pool_id, kind=CommitmentKind.RESERVATION, starts_at__lte=at, ends_at__gt=at
    )
    return sum(rows.values_list("gpus", flat=True))
