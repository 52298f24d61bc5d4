"""Several teams' figures change as one, and the newest change can be taken back."""

from datetime import datetime, timedelta

import pytest

from portal.common.errors import Conflict, Missing
from portal.common.models import AuditEvent
from portal.inventory import selectors as inventory
from portal.inventory.models import Pool
from portal.quotas import selectors, services
from portal.quotas.models import Quota
from portal.quotas.services import Wanted
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight GPUs."""
    return a_pool(nodes=2)


@pytest.fixture
def teams() -> tuple[Team, Team]:
    return a_team("vision"), a_team("speech")


def set_all(pool: Pool, now: datetime, *wanted: Wanted, days: int = 0) -> list[Quota]:
    return services.change_all(
        pool_id=pool.pk, wanted=wanted, valid_from=now + days * DAY, actor_id=None, now=now
    )


def guaranteed(pool: Pool, at: datetime) -> dict[int, int]:
    return {q.team_id: q.guaranteed for q in selectors.list_quotas(at=at, pool_id=pool.pk)}


def test_what_one_team_gives_another_takes_in_the_same_change(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    vision, speech = teams
    set_all(
        pool, now, Wanted(team_id=vision.pk, guaranteed=10), Wanted(team_id=speech.pk, guaranteed=6)
    )
    # The order does not matter: sixteen are promised before and after, eighteen never.
    set_all(
        pool,
        now + DAY,
        Wanted(team_id=speech.pk, guaranteed=8),
        Wanted(team_id=vision.pk, guaranteed=8),
    )
    assert guaranteed(pool, now + DAY) == {vision.pk: 8, speech.pk: 8}
    held = inventory.committed_steps(pool_id=pool.pk, from_at=now, to_at=now + 2 * DAY)
    assert {step.gpus for step in held} == {16}


def test_a_branch_and_its_team_are_raised_together(pool: Pool, now: datetime) -> None:
    branch = a_team("research")
    team = a_team("vision", parent=branch)
    set_all(
        pool,
        now,
        Wanted(team_id=branch.pk, guaranteed=0, limit=4),
        Wanted(team_id=team.pk, guaranteed=4),
    )
    with pytest.raises(Conflict, match="limit of 4"):
        set_all(pool, now, Wanted(team_id=team.pk, guaranteed=6))
    set_all(
        pool,
        now,
        Wanted(team_id=team.pk, guaranteed=6),
        Wanted(team_id=branch.pk, guaranteed=0, limit=6),
    )
    assert guaranteed(pool, now)[team.pk] == 6


def test_one_team_that_does_not_fit_keeps_all_from_changing(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    vision, speech = teams
    with pytest.raises(Conflict) as refused:
        set_all(
            pool,
            now,
            Wanted(team_id=vision.pk, guaranteed=9),
            Wanted(team_id=speech.pk, guaranteed=8),
        )
    assert refused.value.code == "overcommitted"
    assert not Quota.objects.exists()
    assert not AuditEvent.objects.exists()


def test_an_edit_of_figures_that_changed_since_they_were_read_is_refused(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    vision, speech = teams
    first = set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=2, seen_id=0))[0]
    set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=3, seen_id=first.pk))
    with pytest.raises(Conflict) as refused:
        set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=4, seen_id=first.pk))
    assert refused.value.code == "changed_meanwhile"
    # Another team's row is another matter.
    set_all(pool, now, Wanted(team_id=speech.pk, guaranteed=4, seen_id=0))


def test_a_team_named_twice_or_unknown_is_no_change(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    one = Wanted(team_id=teams[0].pk, guaranteed=1)
    for wanted in ([one, one], [Wanted(team_id=987654, guaranteed=1)]):
        with pytest.raises(Missing):
            set_all(pool, now, *wanted)


def test_the_newest_change_is_taken_back_from_now_on(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    vision = teams[0]
    set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=4, limit=8, weight=3))
    wrong = set_all(pool, now + DAY, Wanted(team_id=vision.pk, guaranteed=12))[0]
    back = services.undo(quota_id=wrong.pk, actor_id=None, now=now + 2 * DAY)
    assert [(q.guaranteed, q.limit, q.weight) for q in back] == [(4, 8, 3)]
    past = selectors.get_quota(team_id=vision.pk, pool_id=pool.pk, at=now + DAY)
    assert past is not None
    assert past.guaranteed == 12, "what held for a day did hold"
    assert AuditEvent.objects.order_by("id").last().data["undoes"] == wrong.pk  # type: ignore[union-attr]


def test_taking_back_brings_again_what_was_to_hold_later(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    vision = teams[0]
    set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=4))
    set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=6), days=9)
    wrong = set_all(pool, now, Wanted(team_id=vision.pk, guaranteed=2), days=3)[0]
    services.undo(quota_id=wrong.pk, actor_id=None, now=now + DAY)
    assert [guaranteed(pool, now + days * DAY)[vision.pk] for days in (2, 4, 10)] == [4, 4, 6]


def test_the_first_change_taken_back_leaves_nothing_guaranteed(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    first = set_all(pool, now, Wanted(team_id=teams[0].pk, guaranteed=4))[0]
    services.undo(quota_id=first.pk, actor_id=None, now=now + DAY)
    assert guaranteed(pool, now + DAY) == {teams[0].pk: 0}


def test_only_the_newest_change_can_be_taken_back(
    pool: Pool, teams: tuple[Team, Team], now: datetime
) -> None:
    first = set_all(pool, now, Wanted(team_id=teams[0].pk, guaranteed=4))[0]
    set_all(pool, now + DAY, Wanted(team_id=teams[0].pk, guaranteed=5))
    with pytest.raises(Conflict) as refused:
        services.undo(quota_id=first.pk, actor_id=None, now=now + 2 * DAY)
    assert refused.value.code == "changed_meanwhile"
    with pytest.raises(Missing):
        services.undo(quota_id=987654, actor_id=None, now=now)
