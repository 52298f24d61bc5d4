"""Two people at one reservation, one form or one pool's figures: one wins, the other is told."""

from datetime import datetime, timedelta

import pytest

from portal.inventory import selectors as inventory
from portal.quotas import selectors as quota_rows
from portal.quotas import services as quotas
from portal.quotas.services import Wanted
from portal.requests import approving
from portal.requests import services as requests
from portal.requests.models import Approval, Request, RequestState
from portal.requests.services import Asked
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, ReservationState, Source
from portal.teams.models import Role
from tests import builders
from tests.portal.requests.world import World, a_draft, a_submitted, a_world, asked
from tests.races.crowd import Crowd, words
from tests.races.sound import assert_sound

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def world(crowd: Crowd, now: datetime) -> World:
    """Sixteen GPUs, eight of them guaranteed; the rest anybody may reserve."""
    return a_world(now)


def _hold(world: World, now: datetime, first: int, last: int, gpus: int = 8) -> Reservation:
    return reservations.hold(
        team_id=world.speech.pk, pool_id=world.pool.pk, gpus=gpus, starts_at=now + first * HOUR,
        ends_at=now + last * HOUR, zone="UTC", actor_id=None, now=now,
    )  # fmt: skip


def test_an_extension_and_a_booking_next_to_it_do_not_share_a_gpu(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = _hold(world, now, 1, 3)
    endings = crowd.at_once(
        lambda: reservations.extend(
            reservation_id=row.pk, ends_at=now + 6 * HOUR, actor_id=None, now=now
        ),
        lambda: _hold(world, now, 4, 8),
    )
    assert words(endings) == ["done", "overcommitted"]
    assert_sound(now)


def test_an_extension_and_an_early_end_leave_one_end(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = _hold(world, now, 0, 4)
    reservations.open_and_close_due(now=now)
    later = now + HOUR
    crowd.at_once(
        lambda: reservations.extend(
            reservation_id=row.pk, ends_at=now + 6 * HOUR, actor_id=None, now=later
        ),
        lambda: reservations.give_back(reservation_id=row.pk, actor_id=None, now=later),
    )
    row.refresh_from_db()
    assert (row.state, row.ends_at) == (ReservationState.RELEASED, later)
    free = inventory.free_gpus(pool_id=world.pool.pk, from_at=later, to_at=now + 6 * HOUR)
    assert free == 8
    assert_sound(later)


def test_of_two_people_who_agree_at_once_both_are_counted(
    world: World, crowd: Crowd, now: datetime
) -> None:
    """Two are needed: never one alone, never the change twice."""
    approving.add_rule(actor_id=None, approvals=2)
    row = a_submitted(world, now)
    admins = [world.admin, builders.a_user("second", role=Role.ADMIN)]
    endings = crowd.at_once(
        *(
            lambda who=who: requests.approve(request_id=row.pk, actor_id=who.pk, now=now)
            for who in admins
        )
    )
    assert words(endings) == ["done", "done"]
    row.refresh_from_db()
    assert row.state == RequestState.APPROVED
    assert Approval.objects.filter(request=row).count() == 2
    assert Reservation.objects.count() == 1
    assert_sound(now)


def test_one_person_who_agrees_twice_at_once_is_counted_once(
    world: World, crowd: Crowd, now: datetime
) -> None:
    approving.add_rule(actor_id=None, approvals=2)
    row = a_submitted(world, now)
    endings = crowd.at_once(
        *(
            lambda: requests.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
            for _ in range(2)
        )
    )
    assert words(endings) == ["already_agreed", "done"]
    assert Approval.objects.count() == 1
    assert not Reservation.objects.exists()


def test_of_two_edits_of_one_teams_figures_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    seen = quota_rows.newest_ids(pool_id=world.pool.pk)[world.vision.pk]

    def edit(gpus: int) -> object:
        wanted = Wanted(team_id=world.vision.pk, guaranteed=gpus, seen_id=seen)
        return quotas.change_all(
            pool_id=world.pool.pk, wanted=[wanted], valid_from=now, actor_id=None, now=now
        )

    endings = crowd.at_once(lambda: edit(5), lambda: edit(6))
    assert words(endings) == ["changed_meanwhile", "done"]
    assert_sound(now)


def test_of_two_edits_of_one_draft_one_wins(world: World, crowd: Crowd, now: datetime) -> None:
    row = a_draft(world, now)

    def edit(gpus: int) -> object:
        return requests.save_draft(
            asked=asked(world, now, gpus=gpus), actor_id=world.lead.pk, now=now,
            request_id=row.pk, version=row.version,
        )  # fmt: skip

    endings = crowd.at_once(lambda: edit(2), lambda: edit(3))
    assert words(endings) == ["changed_meanwhile", "done"]


def test_a_draft_moved_to_another_pool_while_it_is_submitted_is_checked_there(
    world: World, crowd: Crowd, now: datetime
) -> None:
    """Whichever comes first: what is approved fits the pool it ended in."""
    small = builders.a_pool("t4", nodes=1, gpus=2)
    row = a_draft(world, now)

    def move() -> object:
        return requests.save_draft(
            asked=asked(world, now, pool_id=small.pk), actor_id=world.lead.pk, now=now,
            request_id=row.pk,
        )  # fmt: skip

    crowd.at_once(move, lambda: requests.submit(request_id=row.pk, actor_id=world.lead.pk, now=now))
    row.refresh_from_db()
    if row.state == RequestState.SUBMITTED:
        assert row.pool_id == world.pool.pk
        requests.approve(request_id=row.pk, actor_id=world.admin.pk, now=now)
    assert_sound(now)


def test_of_two_that_nobody_has_to_agree_to_only_what_fits_is_held(
    world: World, crowd: Crowd, now: datetime
) -> None:
    ask = asked(world, now, source="guarantee", gpus=3)

    def submit() -> Request:
        return requests.ask(asked=ask, actor_id=world.lead.pk, now=now, submitting=True)

    crowd.at_once(submit, submit)
    states = sorted(Request.objects.values_list("state", flat=True))
    assert states == [RequestState.APPROVED, RequestState.SUBMITTED]
    assert Reservation.objects.get().gpus == 3
    assert_sound(now)


def test_a_quota_cut_and_a_booking_within_the_guarantee_do_not_both_pass(
    world: World, crowd: Crowd, now: datetime
) -> None:
    endings = crowd.at_once(
        lambda: quotas.change(
            team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=1, limit=16,
            valid_from=now, actor_id=world.admin.pk, now=now,
        ),
        lambda: reservations.hold(
            team_id=world.vision.pk, pool_id=world.pool.pk, gpus=4, source=Source.GUARANTEE,
            starts_at=now, ends_at=now + DAY, zone="UTC", actor_id=None, now=now,
        ),
    )  # fmt: skip
    assert words(endings) in (["done", "guarantee_exceeded"], ["done", "guarantee_fenced"])
    assert_sound(now)


def test_an_extension_asked_for_twice_is_granted_once(
    world: World, crowd: Crowd, now: datetime
) -> None:
    row = _hold(world, now, 1, 3, gpus=2)
    ask = Asked(
        kind="extension", team_id=world.speech.pk, pool_id=world.pool.pk, about_id=row.pk,
        reason="More", ends_at=now + 6 * HOUR, zone="UTC",
    )  # fmt: skip
    rows = [
        requests.ask(asked=ask, actor_id=world.other_lead.pk, now=now, submitting=True)
        for _ in range(2)
    ]
    endings = crowd.at_once(
        *(
            lambda one=one: requests.approve(request_id=one.pk, actor_id=world.admin.pk, now=now)
            for one in rows
        )
    )
    assert words(endings) == ["done", "done"]
    row.refresh_from_db()
    assert row.ends_at == now + 6 * HOUR
    assert_sound(now)
