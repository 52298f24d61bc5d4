"""Lapsing, soft holds, the past, and clocks that go forward and back."""

from datetime import UTC, datetime, timedelta

import pytest

from portal.common.errors import Conflict, Invalid
from portal.common.models import AuditEvent
from portal.requests import local_times, selectors, services
from portal.requests.models import Request, RequestState
from portal.reservations.models import Reservation
from tests.portal.requests.world import (
    DAY,
    HOUR,
    World,
    a_draft,
    a_submitted,
    a_submitted_quota,
    asked,
)

S = RequestState


def test_what_nobody_decides_lapses_after_fourteen_days_and_only_once(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now, starts_at=now + 20 * DAY, ends_at=now + 21 * DAY)
    assert row.expires_at == now + 14 * DAY
    assert services.expire_due(now=now + 14 * DAY - timedelta(seconds=1)) == 0
    assert services.expire_due(now=now + 14 * DAY) == 1
    assert services.expire_due(now=now + 15 * DAY) == 0
    lapsed = Request.objects.get(pk=row.pk)
    assert (lapsed.state, lapsed.decided_at) == (S.EXPIRED, now + 14 * DAY)
    assert AuditEvent.objects.filter(action="requests.expired").count() == 1


def test_a_reservation_lapses_with_its_end_where_that_is_sooner(
    world: World, now: datetime
) -> None:
    row = a_submitted(world, now)
    assert row.expires_at == now + DAY + 4 * HOUR


def test_what_has_lapsed_cannot_be_approved_though_nobody_cleared_it_away(
    world: World, now: datetime
) -> None:
    row = a_submitted_quota(world, now)
    with pytest.raises(Conflict, match="lapsed") as refused:
        services.approve(request_id=row.pk, actor_id=world.admin.pk, now=now + 14 * DAY)
    assert refused.value.code == "lapsed"


def test_a_soft_hold_counts_until_it_lapses(world: World, now: datetime) -> None:
    first = a_submitted(world, now, gpus=3)
    a_submitted(world, now, gpus=2, source="guarantee")
    a_draft(world, now, gpus=5)
    window = {"pool_id": world.pool.pk, "from_at": now, "to_at": now + 2 * DAY}
    held = selectors.list_soft_holds(**window, now=now)  # type: ignore[arg-type]
    assert [(h.request_id, h.gpus) for h in held] == [(first.pk, 3)]
    assert selectors.list_soft_holds(**window, now=now, without=first.pk) == []  # type: ignore[arg-type]
    late = now + DAY + 4 * HOUR
    assert selectors.list_soft_holds(**window, now=late) == []  # type: ignore[arg-type]
    elsewhere = {**window, "from_at": now, "to_at": now + DAY}
    assert selectors.list_soft_holds(**elsewhere, now=now) == []  # type: ignore[arg-type]


def test_a_quota_request_holds_softly_what_it_adds(world: World, now: datetime) -> None:
    a_submitted_quota(world, now, guaranteed=7)
    a_submitted_quota(world, now, guaranteed=3)
    held = selectors.list_soft_holds(pool_id=world.pool.pk, from_at=now, to_at=now + HOUR, now=now)
    assert [h.gpus for h in held] == [3]


def test_one_approved_after_its_start_begins_at_the_approval(world: World, now: datetime) -> None:
    row = a_submitted(world, now)
    late = now + DAY + HOUR
    services.approve(request_id=row.pk, actor_id=world.admin.pk, now=late)
    held = Reservation.objects.get()
    assert (held.starts_at, held.ends_at) == (late, now + DAY + 4 * HOUR)


@pytest.mark.parametrize("passed", [timedelta(minutes=6), 3 * DAY])
def test_tensorhive_326_nothing_is_asked_for_in_the_past(
    world: World, now: datetime, passed: timedelta
) -> None:
    with pytest.raises(Invalid) as refused:
        services.save_draft(
            asked=asked(world, now, starts_at=now - passed), actor_id=world.lead.pk, now=now
        )
    assert set(refused.value.fields) == {"starts_at"}


def test_tensorhive_202_an_old_draft_is_checked_again_when_submitted(
    world: World, now: datetime
) -> None:
    row = a_draft(world, now)
    with pytest.raises(Invalid) as refused:
        services.submit(request_id=row.pk, actor_id=world.lead.pk, now=now + 3 * DAY)
    assert set(refused.value.fields) == {"starts_at", "ends_at"}


def test_an_end_before_the_start_and_seconds_are_refused(world: World, now: datetime) -> None:
    for ends_at in (now + DAY, now + DAY - HOUR):
        with pytest.raises(Invalid) as refused:
            a_draft(world, now, ends_at=ends_at)
        assert "ends_at" in refused.value.fields
    with pytest.raises(Invalid) as refused:
        a_draft(world, now, starts_at=now + DAY + timedelta(seconds=30))
    assert "starts_at" in refused.value.fields


def test_a_local_time_is_read_on_the_clocks_of_its_zone() -> None:
    assert local_times.read("2026-11-02T09:00", "Asia/Seoul") == datetime(
        2026, 11, 2, 0, 0, tzinfo=UTC
    )
    assert local_times.read("2026-11-02T09:00", "America/New_York") == datetime(
        2026, 11, 2, 14, 0, tzinfo=UTC
    )
    assert local_times.read("2026-11-02T09:00:00+05:30", "Asia/Seoul") == datetime(
        2026, 11, 2, 3, 30, tzinfo=UTC
    )


def test_a_time_the_clocks_leap_over_does_not_exist() -> None:
    # Berlin, 29 March 2026: 02:00 becomes 03:00.
    with pytest.raises(local_times.NotATime, match="does not exist in Europe/Berlin"):
        local_times.read("2026-03-29T02:30", "Europe/Berlin")
    assert local_times.read("2026-03-29T03:00", "Europe/Berlin") == datetime(
        2026, 3, 29, 1, 0, tzinfo=UTC
    )


def test_a_time_that_comes_twice_asks_which_and_takes_either() -> None:
    # Berlin, 25 October 2026: 03:00 becomes 02:00.
    with pytest.raises(local_times.NotATime) as refused:
        local_times.read("2026-10-25T02:30", "Europe/Berlin")
    assert "2026-10-25T02:30+02:00" in str(refused.value)
    assert "2026-10-25T02:30+01:00" in str(refused.value)
    first = local_times.read("2026-10-25T02:30+02:00", "Europe/Berlin")
    second = local_times.read("2026-10-25T02:30+01:00", "Europe/Berlin")
    assert second - first == HOUR
    assert local_times.typed(first, "Europe/Berlin") == "2026-10-25T02:30+02:00"


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01T09:00", "2026-11-02"])
def test_what_is_no_time_says_how_to_write_one(text: str) -> None:
    with pytest.raises(local_times.NotATime, match="2026-11-02T09:00"):
        local_times.read(text, "Asia/Seoul")


@pytest.mark.parametrize("zone", ["Asia/Seoul", "Europe/Berlin", "America/St_Johns", "UTC"])
def test_what_is_typed_again_is_the_same_instant(zone: str) -> None:
    begins = datetime(2026, 10, 24, 20, 0, tzinfo=UTC)
    for minutes in range(0, 60 * 24, 15):
        at = begins + timedelta(minutes=minutes)
        assert local_times.read(local_times.typed(at, zone), zone) == at
