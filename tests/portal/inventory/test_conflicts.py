"""What no longer adds up is listed with its cause and its numbers, never dropped."""

from datetime import datetime, timedelta

import pytest

from portal.inventory import selectors, services
from portal.inventory.models import CommitmentKind, Pool
from portal.inventory.selectors import Cause
from portal.teams.models import Team
from tests.builders import a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def pool() -> Pool:
    """Three nodes of eight GPUs."""
    return a_pool(nodes=3)


def first_node(pool: Pool) -> int:
    return pool.nodes.values_list("pk", flat=True)[0]


@pytest.fixture
def team() -> Team:
    return a_team()


def promise(
    pool: Pool, team: Team, now: datetime, source_id: int, gpus: int, start: timedelta,
    end: timedelta | None, shape: int | None = None,
) -> None:  # fmt: skip
    kind = CommitmentKind.QUOTA if end is None else CommitmentKind.RESERVATION
    services.commit(
        pool_id=pool.pk, kind=kind, source_id=source_id, team_id=team.pk, gpus=gpus,
        gpus_per_node=shape, starts_at=now + start, ends_at=None if end is None else now + end,
        now=now,
    )  # fmt: skip


def test_a_pool_that_adds_up_has_no_conflict(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, 1, 24, HOUR, None)
    assert selectors.list_conflicts(now=now) == []


def test_a_lost_node_makes_a_conflict_without_end(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, 1, 18, timedelta(0), None)
    promise(pool, team, now, 2, 4, DAY, 2 * DAY)
    services.remove_node(node_id=first_node(pool), now=now)
    (found,) = selectors.list_conflicts(now=now)
    assert (found.measure, found.cause, found.pool_name) == ("sum", Cause.CAPACITY, pool.name)
    assert (found.from_at, found.to_at) == (now, None)
    assert (found.worst_at, found.capacity, found.committed, found.short) == (now + DAY, 16, 22, 6)
    assert [(row.source_id, row.gpus) for row in found.commitments] == [(1, 18), (2, 4)]


def test_maintenance_makes_a_conflict_for_as_long_as_it_lasts(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, 1, 20, timedelta(0), None)
    services.plan_maintenance(
        node_id=first_node(pool), starts_at=now + 90 * DAY, ends_at=now + 91 * DAY, now=now,
        actor_id=None,
    )  # fmt: skip
    (found,) = selectors.list_conflicts(now=now)
    assert (found.cause, found.from_at, found.to_at) == (
        Cause.MAINTENANCE, now + 90 * DAY, now + 91 * DAY,
    )  # fmt: skip
    assert (found.capacity, found.short, found.maintenance, found.down) == (16, 4, 8, 0)


def test_a_node_that_is_down_counts_only_within_the_horizon(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, 1, 24, 3 * DAY, 5 * DAY)
    promise(pool, team, now, 2, 24, 30 * DAY, 31 * DAY)
    services.node_down(node_id=first_node(pool), now=now)
    (found,) = selectors.list_conflicts(now=now)
    assert (found.cause, found.from_at, found.to_at) == (Cause.DOWN, now + 3 * DAY, now + 5 * DAY)
    assert (found.short, found.down) == (8, 8)
    assert selectors.list_conflicts(now=now, horizon=2 * DAY) == []
    assert len(selectors.list_conflicts(now=now, horizon=60 * DAY)) == 2


def test_a_shape_that_lost_its_nodes_is_a_conflict_though_the_sum_holds(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, 1, 12, timedelta(0), DAY, shape=6)
    promise(pool, team, now, 2, 3, timedelta(0), DAY, shape=3)
    services.node_down(node_id=first_node(pool), now=now)
    (found,) = selectors.list_conflicts(now=now)
    assert (found.measure, found.cause) == ("shape", Cause.DOWN)
    assert (found.capacity, found.committed, found.short) == (16, 15, 3)


def test_a_node_that_returns_resolves_the_conflict(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, 1, 24, timedelta(0), None)
    node_id = first_node(pool)
    services.node_down(node_id=node_id, now=now)
    assert len(selectors.list_conflicts(now=now, pool_id=pool.pk)) == 1
    services.node_up(node_id=node_id, now=now + HOUR)
    assert selectors.list_conflicts(now=now + HOUR) == []


def test_conflicts_of_many_pools_cost_the_same_few_queries(
    team: Team, now: datetime, django_assert_max_num_queries: object
) -> None:
    for number in range(6):
        pool = a_pool(f"pool-{number}", nodes=2)
        promise(pool, team, now, number, 16, timedelta(0), None)
        services.node_down(node_id=first_node(pool), now=now)
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        assert len(selectors.list_conflicts(now=now)) == 6
