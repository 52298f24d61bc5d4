"""Booking: within limit, guarantee, sum and shape, or refused with the numbers."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Commitment, Pool
from portal.quotas import services as quotas
from portal.reservations import selectors, services
from portal.reservations.models import Reservation, Source
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight GPUs."""
    return a_pool(nodes=2)


@pytest.fixture
def team() -> Team:
    return a_team()


def hold(team: Team, pool: Pool, now: datetime, **given: Any) -> Reservation:
    asked: dict[str, Any] = {
        "gpus": 4, "starts_at": now + HOUR, "ends_at": now + 5 * HOUR, "zone": "Asia/Seoul",
    } | given  # fmt: skip
    return services.hold(team_id=team.pk, pool_id=pool.pk, actor_id=None, now=now, **asked)


def change(team: Team, pool: Pool, now: datetime, guaranteed: int, limit: int | None) -> None:
    quotas.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=guaranteed, limit=limit, valid_from=now,
        actor_id=None, now=now,
    )  # fmt: skip


def refusal(team: Team, pool: Pool, now: datetime, **given: Any) -> Conflict:
    """The refusal of an ask; nothing must have changed."""
    before = Reservation.objects.count(), Commitment.objects.count(), AuditEvent.objects.count()
    with pytest.raises(Conflict) as refused:
        hold(team, pool, now, **given)
    after = Reservation.objects.count(), Commitment.objects.count(), AuditEvent.objects.count()
    assert after == before
    return refused.value


def test_a_booking_is_on_the_calendar_with_its_promise(
    pool: Pool, team: Team, now: datetime
) -> None:
    row = hold(team, pool, now, gpus=8, gpus_per_node=4, purpose="Ablation", request_id=5)
    promise = Commitment.objects.get()
    assert (promise.kind, promise.source_id, promise.gpus, promise.adds) == (
        "reservation", row.pk, 8, True,
    )  # fmt: skip
    assert (row.state, row.planned_ends_at) == ("pending", row.ends_at)
    line = AuditEvent.objects.get()
    assert (line.action, line.target_id, line.team_id) == ("reservations.held", row.pk, team.pk)
    assert (line.data["gpus"], line.data["request"]) == (8, 5)


def test_a_booking_above_capacity_is_refused(pool: Pool, team: Team, now: datetime) -> None:
    hold(team, pool, now, gpus=10)
    refused = refusal(team, pool, now, gpus=7, starts_at=now + 4 * HOUR, ends_at=now + 9 * HOUR)
    assert refused.code == "overcommitted"
    numbers = {k: refused.details[k] for k in ("capacity", "committed", "asked", "free", "at")}
    assert numbers == {
        "capacity": 16, "committed": 10, "asked": 7, "free": 6,
        "at": (now + 4 * HOUR).isoformat(),
    }  # fmt: skip


def test_a_shape_no_node_has_left_is_refused(pool: Pool, team: Team, now: datetime) -> None:
    hold(team, pool, now, gpus=10, gpus_per_node=5)
    refused = refusal(team, pool, now, gpus=4, gpus_per_node=4)
    assert (refused.details["measure"], refused.details["free"]) == ("shape", 0)
    hold(team, pool, now, gpus=6, gpus_per_node=3)


def test_a_booking_above_the_limit_is_refused(pool: Pool, team: Team, now: datetime) -> None:
    change(team, pool, now, guaranteed=4, limit=10)
    hold(team, pool, now, gpus=3)
    refused = refusal(team, pool, now, gpus=4, starts_at=now + 4 * HOUR, ends_at=now + 9 * HOUR)
    assert refused.code == "above_limit"
    assert refused.details == {
        "team_id": team.pk, "pool_id": pool.pk, "at": (now + 4 * HOUR).isoformat(),
        "until": (now + 5 * HOUR).isoformat(), "limit": 10, "guaranteed": 4, "reserved": 3,
        "asked": 4, "left": 3,
    }  # fmt: skip
    assert "a limit of 10 GPUs" in refused.message
    hold(team, pool, now, gpus=3, starts_at=now + 4 * HOUR, ends_at=now + 9 * HOUR)


def test_the_limit_that_begins_during_the_booking_binds_too(
    pool: Pool, team: Team, now: datetime
) -> None:
    quotas.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=0, limit=2, valid_from=now + 3 * HOUR,
        actor_id=None, now=now,
    )  # fmt: skip
    assert refusal(team, pool, now, gpus=4).details["at"] == (now + 3 * HOUR).isoformat()
    hold(team, pool, now, gpus=4, ends_at=now + 3 * HOUR)


def test_the_limit_of_the_branch_above_binds_too(pool: Pool, now: datetime) -> None:
    research = a_team("research")
    vision, speech = a_team("vision", parent=research), a_team("speech", parent=research)
    change(research, pool, now, guaranteed=0, limit=9)
    hold(vision, pool, now, gpus=6)
    refused = refusal(speech, pool, now, gpus=4)
    assert (refused.details["team_id"], refused.details["left"]) == (research.pk, 3)


def test_from_the_guarantee_never_more_than_is_not_set_aside_yet(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, guaranteed=8, limit=8)
    hold(team, pool, now, gpus=5, source=Source.GUARANTEE)
    refused = refusal(team, pool, now, gpus=4, source=Source.GUARANTEE)
    assert refused.code == "guarantee_exceeded"
    assert refused.details == {
        "team_id": team.pk, "pool_id": pool.pk, "at": (now + HOUR).isoformat(),
        "until": (now + 5 * HOUR).isoformat(), "guaranteed": 8, "fenced": 5, "asked": 4, "left": 3,
    }  # fmt: skip
    hold(team, pool, now, gpus=3, source=Source.GUARANTEE)
    assert Commitment.objects.filter(kind="reservation", adds=False).count() == 2


def test_from_no_guarantee_nothing_can_be_set_aside(pool: Pool, team: Team, now: datetime) -> None:
    assert refusal(team, pool, now, gpus=1, source=Source.GUARANTEE).details["guaranteed"] == 0


def test_no_booking_begins_in_the_past_tensorhive_306(
    pool: Pool, team: Team, now: datetime, settings: Any
) -> None:
    with pytest.raises(Invalid) as refused:
        hold(team, pool, now, starts_at=now - timedelta(seconds=settings.TICK_SECONDS + 1))
    assert (refused.value.code, set(refused.value.fields)) == ("in_the_past", {"starts_at"})
    row = hold(team, pool, now, starts_at=now - timedelta(seconds=settings.TICK_SECONDS))
    assert row.starts_at == now


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"gpus": 0}, "gpus"),
        ({"gpus": 6, "gpus_per_node": 4}, "gpus_per_node"),
        ({"gpus": 6, "gpus_per_node": 0}, "gpus_per_node"),
        ({"zone": "Mars/Olympus"}, "zone"),
    ],
)
def test_an_ask_that_makes_no_sense_is_refused(
    pool: Pool, team: Team, now: datetime, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        hold(team, pool, now, **given)
    assert set(refused.value.fields) == {field}


def test_an_end_that_is_not_after_the_start_is_refused(
    pool: Pool, team: Team, now: datetime
) -> None:
    with pytest.raises(Invalid) as refused:
        hold(team, pool, now, ends_at=now + HOUR)
    assert set(refused.value.fields) == {"ends_at"}


def test_an_unknown_team_or_pool_is_missing(pool: Pool, team: Team, now: datetime) -> None:
    with pytest.raises(Missing):
        services.hold(
            team_id=404, pool_id=pool.pk, gpus=1, starts_at=now, ends_at=now + HOUR, zone="UTC",
            actor_id=None, now=now,
        )  # fmt: skip


def test_one_request_becomes_one_booking_however_often_it_is_carried_out(
    pool: Pool, team: Team, now: datetime
) -> None:
    first = hold(team, pool, now, request_id=5)
    late = services.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=4, starts_at=now + HOUR, ends_at=now + 5 * HOUR,
        zone="Asia/Seoul", request_id=5, actor_id=None, now=now + 9 * HOUR,
    )  # fmt: skip
    assert hold(team, pool, now, request_id=5).pk == late.pk == first.pk
    assert Commitment.objects.count() == AuditEvent.objects.count() == 1


def test_a_booking_across_midnight_is_one_block_kubestellar_5395(
    pool: Pool, team: Team, now: datetime
) -> None:
    evening = now + timedelta(hours=14)  # 23:00 in Seoul
    row = hold(team, pool, now, starts_at=evening, ends_at=evening + 2 * HOUR)
    for day in (now, now + timedelta(hours=15)):  # the days of Seoul on both sides of midnight
        found = selectors.list_reservations(
            pool_id=pool.pk, from_at=day, to_at=day + timedelta(hours=24)
        )
        assert [(r.id, r.starts_at, r.ends_at) for r in found] == [
            (row.pk, evening, evening + 2 * HOUR)
        ]


def test_reads_by_pool_team_and_time(pool: Pool, team: Team, now: datetime) -> None:
    row = hold(team, pool, now)
    assert [r.id for r in selectors.list_open(at=now + HOUR)] == [row.pk]
    assert selectors.list_open(at=now + 5 * HOUR) == []
    assert [r.id for r in selectors.list_open(at=now + HOUR, cluster_id=pool.cluster_id)]
    assert selectors.list_open(at=now + HOUR, cluster_id=404) == []
    assert selectors.list_reservations(from_at=now + 5 * HOUR) == []
    assert selectors.list_reservations(to_at=now + HOUR) == []
    assert len(selectors.list_reservations(team_ids=[team.pk])) == 1
    assert selectors.get_reservation(reservation_id=row.pk).gpus == 4
    with pytest.raises(Missing):
        selectors.get_reservation(reservation_id=404)
