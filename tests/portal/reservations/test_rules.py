"""What a pool asks of its reservations, and how one ends later or earlier than planned."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory.models import Pool
from portal.quotas import services as quotas
from portal.reservations import services
from portal.reservations.models import Reservation, Source
from portal.reservations.rules import Rules
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight."""
    return a_pool(nodes=2)


@pytest.fixture
def team() -> Team:
    return a_team()


def book(
    team: Team, pool: Pool, now: datetime, first: int, last: int, gpus: int = 4, **given: Any
) -> Reservation:
    """From hour to hour, counted from now."""
    return services.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=gpus, starts_at=now + first * HOUR,
        ends_at=now + last * HOUR, zone="Asia/Seoul", actor_id=None, now=now, **given,
    )  # fmt: skip


def set_rules(pool: Pool, now: datetime, **figures: int | None) -> None:
    services.set_rules(pool_id=pool.pk, figures=Rules(**figures), actor_id=None, now=now)


def extend(row: Reservation, now: datetime, to: datetime) -> Reservation:
    return services.extend(reservation_id=row.pk, ends_at=to, actor_id=None, now=now)


def free(pool: Pool, now: datetime, first: int, last: int) -> int:
    return inventory.free_gpus(pool_id=pool.pk, from_at=now + first * HOUR, to_at=now + last * HOUR)


def refused(code: str) -> Any:
    return pytest.raises(Conflict, check=lambda refusal: refusal.code == code)


def test_a_pool_says_how_long_and_how_far_ahead(pool: Pool, team: Team, now: datetime) -> None:
    set_rules(pool, now, longest_hours=24, ahead_days=7)
    with refused("too_long"):
        book(team, pool, now, 0, 25)
    with refused("too_early"):
        book(team, pool, now, 7 * 24 + 1, 7 * 24 + 2)
    assert not Reservation.objects.exists()
    book(team, pool, now, 7 * 24, 8 * 24)


def test_a_row_of_short_ones_is_not_one_long_one(pool: Pool, team: Team, now: datetime) -> None:
    set_rules(pool, now, rest_hours=0)
    book(team, pool, now, 10, 20)
    for first, last in ((20, 30), (0, 10), (12, 14), (5, 25)):
        with refused("stacked"):
            book(team, pool, now, first, last)
    book(team, pool, now, 21, 30)
    book(a_team("speech"), pool, now, 10, 20)


def test_a_rest_between_two_is_kept(pool: Pool, team: Team, now: datetime) -> None:
    set_rules(pool, now, rest_hours=12)
    book(team, pool, now, 20, 30)
    for first, last in ((0, 9), (41, 50)):
        with refused("stacked"):
            book(team, pool, now, first, last)
    book(team, pool, now, 42, 50)
    # What was called off is near to nothing.
    row = book(team, pool, now, 1, 8)
    services.cancel(reservation_id=row.pk, actor_id=None, now=now)
    book(team, pool, now, 1, 7)


def test_rules_that_make_no_sense_are_refused_and_changes_are_told(
    pool: Pool, now: datetime
) -> None:
    with pytest.raises(Invalid) as wrong:
        set_rules(pool, now, longest_hours=0, grace_minutes=-1)
    assert set(wrong.value.fields) == {"longest_hours", "grace_minutes"}
    set_rules(pool, now, longest_hours=24)
    told = AuditEvent.objects.get(action="reservations.rules_set").data
    assert (told["was"]["longest_hours"], told["now"]["longest_hours"]) == (None, 24)
    with pytest.raises(Missing):
        services.set_rules(pool_id=987654, figures=Rules(), actor_id=None, now=now)


def test_an_extension_adds_only_what_is_free(pool: Pool, team: Team, now: datetime) -> None:
    row = book(team, pool, now, 1, 4, gpus=10)
    book(a_team("speech"), pool, now, 6, 8, gpus=8)
    extend(row, now, now + 6 * HOUR)
    assert free(pool, now, 1, 6) == 6
    with refused("overcommitted"):
        extend(row, now, now + 7 * HOUR)
    row.refresh_from_db()
    assert (row.ends_at, row.planned_ends_at) == (now + 6 * HOUR, now + 6 * HOUR)
    assert extend(row, now, now + 6 * HOUR).ends_at == now + 6 * HOUR
    assert AuditEvent.objects.filter(action="reservations.extended").count() == 1


def test_an_extension_is_bound_by_the_teams_limit_and_guarantee(
    pool: Pool, team: Team, now: datetime
) -> None:
    for days, guaranteed, limit in ((0, 4, 8), (1, 2, 6)):
        quotas.change(
            team_id=team.pk, pool_id=pool.pk, guaranteed=guaranteed, limit=limit,
            valid_from=now + days * DAY, actor_id=None, now=now,
        )  # fmt: skip
    row = book(team, pool, now, 10, 20, gpus=4)
    fenced = book(team, pool, now, 10, 20, gpus=3, source=Source.GUARANTEE)
    with refused("guarantee_exceeded"):
        extend(fenced, now, now + 25 * HOUR)
    extend(row, now, now + 25 * HOUR)
    other = book(team, pool, now, 30, 31, gpus=4)
    with refused("above_limit"):
        extend(row, now, now + 31 * HOUR)
    assert other.pk


def test_an_extension_has_its_window_and_the_longest_length(
    pool: Pool, team: Team, now: datetime
) -> None:
    row = book(team, pool, now, 1, 20)
    set_rules(pool, now, longest_hours=24, extension_hours=4)
    with refused("extended_too_early"):
        extend(row, now + 10 * HOUR, now + 22 * HOUR)
    with refused("too_long"):
        extend(row, now + 16 * HOUR, now + 26 * HOUR)
    assert extend(row, now + 16 * HOUR, now + 25 * HOUR).ends_at == now + 25 * HOUR


def test_what_is_over_or_called_off_is_not_extended(pool: Pool, team: Team, now: datetime) -> None:
    row = book(team, pool, now, 0, 2)
    off = book(team, pool, now, 5, 6)
    services.cancel(reservation_id=off.pk, actor_id=None, now=now)
    for which, at in ((row, now + 2 * HOUR), (off, now)):
        with refused("over"):
            extend(which, at, now + 9 * HOUR)
    with pytest.raises(Invalid):
        extend(book(team, pool, now, 5, 8), now, now + 7 * HOUR)


def test_an_end_moved_forward_frees_the_rest_and_never_the_past(
    pool: Pool, team: Team, now: datetime
) -> None:
    row = book(team, pool, now, 0, 10, gpus=16)
    for hours in (0, 2, 3, 11):
        with pytest.raises(Invalid):
            services.shorten(
                reservation_id=row.pk, ends_at=now + hours * HOUR, actor_id=None,
                now=now + 3 * HOUR,
            )  # fmt: skip
    services.shorten(
        reservation_id=row.pk, ends_at=now + 6 * HOUR, actor_id=None, now=now + 3 * HOUR
    )
    assert (free(pool, now, 0, 6), free(pool, now, 6, 10)) == (0, 16)
    row.refresh_from_db()
    assert (row.ends_at, row.planned_ends_at) == (now + 6 * HOUR, now + 10 * HOUR)
