"""A change of figures: dated, never overlapping, in step with what is promised."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Commitment, Pool
from portal.quotas import bounds, selectors, services
from portal.quotas.models import Quota
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, Source
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight GPUs."""
    return a_pool(nodes=2)


@pytest.fixture
def team() -> Team:
    return a_team()


def change(
    team: Team, pool: Pool, now: datetime, guaranteed: int, limit: int | None = None,
    days: int = 0, **given: Any,
) -> Quota:  # fmt: skip
    return services.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=guaranteed, limit=limit,
        valid_from=now + days * DAY, actor_id=None, now=now, **given,
    )  # fmt: skip


def hold(
    team: Team, pool: Pool, now: datetime, gpus: int, first: int, last: int,
    source: Source = Source.POOL,
) -> Reservation:  # fmt: skip
    return reservations.hold(
        team_id=team.pk, pool_id=pool.pk, gpus=gpus, source=source, starts_at=now + first * DAY,
        ends_at=now + last * DAY, zone="Asia/Seoul", actor_id=None, now=now,
    )  # fmt: skip


def figures(team: Team, pool: Pool) -> list[tuple[int, datetime, datetime | None]]:
    rows = selectors.list_history(team_id=team.pk, pool_id=pool.pk)
    return [(row.guaranteed, row.valid_from, row.valid_to) for row in rows]


def promised(pool: Pool) -> list[tuple[int, datetime, datetime | None]]:
    rows = Commitment.objects.filter(pool=pool).order_by("starts_at", "pk")
    return list(rows.values_list("gpus", "starts_at", "ends_at"))


def test_a_change_closes_the_open_row_and_opens_the_next(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 8)
    change(team, pool, now + DAY, 4, days=2)
    wanted = [(8, now, now + 3 * DAY), (4, now + 3 * DAY, None)]
    assert figures(team, pool) == wanted
    assert promised(pool) == wanted


def test_a_later_change_replaces_one_that_has_not_begun(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 8)
    change(team, pool, now + DAY, 4, days=9)
    change(team, pool, now + DAY, 6, days=2)
    wanted = [(8, now, now + 3 * DAY), (6, now + 3 * DAY, None)]
    assert figures(team, pool) == wanted
    assert promised(pool) == wanted
    replaced = AuditEvent.objects.order_by("-id")[0].data["replaced"]
    assert [row["guaranteed"] for row in replaced] == [4]


def test_a_change_dated_after_another_leaves_that_one_in_between(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 8)
    change(team, pool, now + DAY, 4, days=2)
    change(team, pool, now + DAY, 6, days=9)
    wanted = [
        (8, now, now + 3 * DAY),
        (4, now + 3 * DAY, now + 10 * DAY),
        (6, now + 10 * DAY, None),
    ]
    assert figures(team, pool) == wanted
    assert promised(pool) == wanted


def test_two_changes_at_one_instant_leave_the_second(pool: Pool, team: Team, now: datetime) -> None:
    change(team, pool, now, 8)
    change(team, pool, now, 16)
    assert figures(team, pool) == promised(pool) == [(16, now, None)]


def test_a_guarantee_of_nothing_promises_nothing(pool: Pool, team: Team, now: datetime) -> None:
    change(team, pool, now, 0, limit=4)
    assert figures(team, pool) == [(0, now, None)]
    assert promised(pool) == []


def test_what_is_past_stays_as_it_was(pool: Pool, team: Team, now: datetime) -> None:
    change(team, pool, now, 8)
    with pytest.raises(Invalid) as refused:
        change(team, pool, now + 2 * DAY, 4, days=-1)
    assert refused.value.code == "in_the_past"
    change(team, pool, now + 2 * DAY, 4)
    assert selectors.get_quota(team_id=team.pk, pool_id=pool.pk, at=now + DAY).guaranteed == 8  # type: ignore[union-attr]


def test_a_start_that_passed_within_a_tick_begins_now(
    pool: Pool, team: Team, now: datetime, settings: Any
) -> None:
    late = now + timedelta(seconds=settings.TICK_SECONDS)
    quota = services.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=1, limit=None, valid_from=now,
        actor_id=None, now=late,
    )  # fmt: skip
    assert quota.valid_from == late


def test_more_than_the_pool_has_is_refused_and_changes_nothing(
    pool: Pool, team: Team, now: datetime
) -> None:
    other = a_team("speech")
    change(team, pool, now, 8)
    change(other, pool, now, 4)
    before = figures(team, pool), promised(pool), AuditEvent.objects.count()
    with pytest.raises(Conflict) as refused:
        change(team, pool, now, 13, days=2)
    assert refused.value.code == "overcommitted"
    numbers = {k: refused.value.details[k] for k in ("capacity", "committed", "asked", "free")}
    assert numbers == {"capacity": 16, "committed": 4, "asked": 13, "free": 12}
    assert (figures(team, pool), promised(pool), AuditEvent.objects.count()) == before


def test_one_team_may_take_what_another_gave_up_for_later(
    pool: Pool, team: Team, now: datetime
) -> None:
    other = a_team("speech")
    change(team, pool, now, 16)
    change(team, pool, now, 4, days=2)
    change(other, pool, now, 12, days=2)
    with pytest.raises(Conflict):
        change(other, pool, now, 12, days=1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"guaranteed": -1}, "guaranteed"),
        ({"guaranteed": 9, "limit": 8}, "limit"),
        ({"guaranteed": 1, "weight": 0}, "weight"),
        ({"guaranteed": 1, "per_user_limit": 0}, "per_user_limit"),
        ({"guaranteed": 1, "borrowing_limit": -1}, "borrowing_limit"),
        ({"guaranteed": 1, "lending_limit": 10**9}, "lending_limit"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(
    pool: Pool, team: Team, now: datetime, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        change(team, pool, now, **given)
    assert set(refused.value.fields) == {field}
    assert not Quota.objects.exists()


def test_a_limit_below_guarantee_and_reservations_is_refused_over_the_whole_period(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 4, limit=12)
    hold(team, pool, now, 6, 5, 7)
    with pytest.raises(Conflict) as refused:
        change(team, pool, now, 4, limit=9)
    assert refused.value.code == "above_limit"
    assert refused.value.details == {
        "team_id": team.pk, "pool_id": pool.pk, "at": (now + 5 * DAY).isoformat(),
        "guaranteed": 4, "reserved": 6, "limit": 9,
    }  # fmt: skip
    assert set(refused.value.fields) == {"limit"}
    change(team, pool, now, 4, limit=10)
    change(team, pool, now, 4, limit=4, days=7)


def test_a_guarantee_below_what_reservations_set_aside_is_refused(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 8)
    hold(team, pool, now, 6, 5, 7, source=Source.GUARANTEE)
    with pytest.raises(Conflict) as refused:
        change(team, pool, now, 5)
    assert refused.value.code == "guarantee_fenced"
    assert refused.value.details == {
        "team_id": team.pk, "pool_id": pool.pk, "at": (now + 5 * DAY).isoformat(),
        "guaranteed": 5, "fenced": 6,
    }  # fmt: skip
    change(team, pool, now, 6)
    change(team, pool, now, 0, days=7)


def test_the_limit_of_a_branch_binds_all_teams_in_it(pool: Pool, now: datetime) -> None:
    research = a_team("research")
    vision, speech = a_team("vision", parent=research), a_team("speech", parent=research)
    change(research, pool, now, 2, limit=10)
    change(vision, pool, now, 4)
    with pytest.raises(Conflict) as refused:
        change(speech, pool, now, 5)
    assert refused.value.details["team_id"] == research.pk
    assert (refused.value.details["guaranteed"], refused.value.details["limit"]) == (11, 10)
    assert set(refused.value.fields) == {"guaranteed"}
    change(speech, pool, now, 4)
    with pytest.raises(Conflict):
        change(research, pool, now, 2, limit=9)


def test_a_change_that_makes_nothing_worse_is_never_refused(
    pool: Pool, team: Team, now: datetime
) -> None:
    change(team, pool, now, 16)
    pool.nodes.update(removed_at=now)
    change(team, pool, now, 16, limit=20)
    change(team, pool, now, 9)
    with pytest.raises(Conflict):
        change(team, pool, now, 10)


def test_an_unknown_team_or_pool_is_missing(pool: Pool, team: Team, now: datetime) -> None:
    for team_id, pool_id in ((404, pool.pk), (team.pk, 404)):
        with pytest.raises(Missing):
            services.change(
                team_id=team_id, pool_id=pool_id, guaranteed=1, limit=None, valid_from=now,
                actor_id=None, now=now,
            )  # fmt: skip


def test_every_change_leaves_a_line_with_before_and_after(
    pool: Pool, team: Team, now: datetime
) -> None:
    first = change(team, pool, now, 8, limit=12)
    second = services.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=4, limit=None, weight=3,
        valid_from=now + 2 * DAY, actor_id=7, now=now + DAY, request_id=11,
    )  # fmt: skip
    line = AuditEvent.objects.order_by("-id")[0]
    assert (line.action, line.target_id, line.team_id, line.actor_id) == (
        "quotas.changed", second.pk, team.pk, 7,
    )  # fmt: skip
    assert (line.data["pool"], line.data["request"]) == (pool.pk, 11)
    assert (line.data["was"]["id"], line.data["was"]["guaranteed"]) == (first.pk, 8)
    assert (line.data["now"]["guaranteed"], line.data["now"]["weight"]) == (4, 3)


def test_reads_at_an_instant_and_over_time(pool: Pool, team: Team, now: datetime) -> None:
    change(team, pool, now, 8)
    change(team, pool, now, 4, days=5)
    at = selectors.list_quotas(at=now + DAY, pool_id=pool.pk)
    assert [(q.team_id, q.guaranteed) for q in at] == [(team.pk, 8)]
    assert selectors.list_quotas(at=now - DAY) == []
    ahead = selectors.list_changes(after=now, team_ids=[team.pk])
    assert [q.guaranteed for q in ahead] == [4]
    steps = selectors.guaranteed_steps(
        team_ids=[team.pk], pool_id=pool.pk, from_at=now - DAY, to_at=now + 9 * DAY
    )
    assert [(s.from_at, s.gpus) for s in steps] == [
        (now - DAY, 0), (now, 8), (now + 5 * DAY, 4),
    ]  # fmt: skip


def test_room_is_the_tightest_instant_and_names_whose_figure_binds(
    pool: Pool, now: datetime
) -> None:
    research = a_team("research")
    vision = a_team("vision", parent=research)

    def room(first: int, last: int, from_guarantee: bool = False) -> bounds.Room:
        return bounds.get_room(
            team_id=vision.pk, pool_id=pool.pk, starts_at=now + first * DAY,
            ends_at=now + last * DAY, now=now, from_guarantee=from_guarantee,
        )  # fmt: skip

    assert room(1, 2).left is None
    change(vision, pool, now, 4, limit=10)
    assert (room(1, 2).left, room(1, 2).team_id) == (6, vision.pk)
    change(research, pool, now, 0, limit=7, days=3)
    assert (room(1, 4).left, room(1, 4).team_id, room(1, 4).at) == (3, research.pk, now + 3 * DAY)
    hold(vision, pool, now, 3, 1, 2, source=Source.GUARANTEE)
    assert room(1, 4, from_guarantee=True).left == 1
