"""Capacity over time, what fits, and the pieces the bill is made of."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.inventory import selectors, services
from portal.inventory.calendar import Condition
from portal.inventory.models import CommitmentKind, MaintenanceWindow, Node, NodeOutage, Pool
from tests.builders import a_node, a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_capacity_follows_nodes_and_maintenance(now: datetime) -> None:
    pool = a_pool(nodes=1)
    new = a_node(pool, "new", gpus=4, first_seen_at=now + HOUR)
    Node.objects.filter(pk=new.pk).update(removed_at=now + 5 * HOUR)
    services.plan_maintenance(
        node_id=pool.nodes.get(gpus=8).pk, starts_at=now + 2 * HOUR, ends_at=now + 3 * HOUR,
        now=now, actor_id=None,
    )  # fmt: skip
    found = selectors.capacity_steps(pool_id=pool.pk, from_at=now, to_at=now + 6 * HOUR)
    assert [(s.from_at, s.gpus) for s in found] == [
        (now, 8),
        (now + HOUR, 12),
        (now + 2 * HOUR, 4),
        (now + 3 * HOUR, 12),
        (now + 5 * HOUR, 8),
    ]


def test_free_is_the_least_that_is_left_over_the_whole_time(now: datetime) -> None:
    pool, team = a_pool(nodes=1), a_team()
    for source_id, gpus, start in ((1, 3, 0), (2, 4, 2)):
        services.commit(
            pool_id=pool.pk, kind=CommitmentKind.RESERVATION, source_id=source_id,
            team_id=team.pk, gpus=gpus, starts_at=now + start * HOUR, ends_at=now + 4 * HOUR,
            now=now,
        )  # fmt: skip
    assert selectors.free_gpus(pool_id=pool.pk, from_at=now, to_at=now + 2 * HOUR) == 5
    assert selectors.free_gpus(pool_id=pool.pk, from_at=now, to_at=now + 3 * HOUR) == 1
    assert selectors.free_gpus(pool_id=pool.pk, from_at=now + 4 * HOUR, to_at=now + 5 * HOUR) == 8
    steps = selectors.committed_steps(pool_id=pool.pk, from_at=now, to_at=now + 5 * HOUR)
    assert [s.gpus for s in steps] == [3, 7, 0]


def test_an_answer_that_does_not_fit_names_when_and_who(now: datetime) -> None:
    pool, team = a_pool(nodes=1), a_team()
    services.commit(
        pool_id=pool.pk, kind=CommitmentKind.RESERVATION, source_id=7, team_id=team.pk, gpus=5,
        starts_at=now + 2 * HOUR, ends_at=now + 4 * HOUR, now=now,
    )  # fmt: skip
    fit = selectors.fits(pool_id=pool.pk, gpus=4, starts_at=now, ends_at=now + 8 * HOUR)
    assert (fit.fits, fit.at, fit.until) == (False, now + 2 * HOUR, now + 4 * HOUR)
    assert (fit.capacity, fit.committed, fit.asked, fit.free) == (8, 5, 4, 3)
    assert [(row.source_id, row.team_id) for row in fit.blocking] == [(7, team.pk)]
    assert selectors.fits(pool_id=pool.pk, gpus=3, starts_at=now, ends_at=now + 8 * HOUR).fits
    assert selectors.fits(
        pool_id=pool.pk, gpus=8, starts_at=now, ends_at=now + 8 * HOUR,
        instead_of=(CommitmentKind.RESERVATION, 7),
    ).fits  # fmt: skip


def test_a_listed_pool_adds_up(now: datetime) -> None:
    pool = a_pool(nodes=3)
    first, second, _ = pool.nodes.order_by("name")
    services.node_down(node_id=first.pk, now=now - HOUR, reason="NotReady")
    services.plan_maintenance(
        node_id=second.pk, starts_at=now, ends_at=now + HOUR, now=now, actor_id=None
    )
    row = selectors.get_pool(pool_id=pool.pk, now=now)
    assert (row.nodes, row.gpus, row.ready, row.maintenance, row.down) == (3, 24, 8, 8, 8)
    assert (row.committed, row.free, row.largest_node) == (0, 16, 8)
    nodes = selectors.list_nodes(now=now, pool_id=pool.pk)
    assert [(n.condition, n.down_since) for n in nodes] == [
        (Condition.DOWN, now - HOUR),
        (Condition.MAINTENANCE, None),
        (Condition.READY, None),
    ]


hours = st.integers(-4, 30)
lengths = st.one_of(st.none(), st.integers(1, 12))


@given(
    st.lists(st.tuples(hours, lengths), min_size=1, max_size=3),
    st.lists(st.tuples(hours, st.integers(1, 12)), max_size=3),
    st.lists(st.tuples(hours, lengths), max_size=1),
)
def test_pieces_are_capacity_times_time_to_the_second(
    lives: list[tuple[int, int | None]],
    planned: list[tuple[int, int]],
    broken: list[tuple[int, int | None]],
) -> None:
    now = datetime.fromisoformat("2026-11-02T00:00:00+00:00")
    pool = a_pool(f"pool-{Pool.objects.count()}")
    window = (now, now + 24 * HOUR)
    expected = 0
    for number, (start, length) in enumerate(lives):
        node = a_node(
            pool, f"n{number}-{pool.pk}", gpus=number + 1, first_seen_at=now + start * HOUR
        )
        end = None if length is None else now + (start + length) * HOUR
        Node.objects.filter(pk=node.pk).update(removed_at=end)
        for at, long in planned:
            MaintenanceWindow.objects.create(
                node=node, starts_at=now + at * HOUR, ends_at=now + (at + long) * HOUR
            )
        for at, longer in broken:
            ends_at = None if longer is None else now + (at + longer) * HOUR
            NodeOutage.objects.create(node=node, starts_at=now + at * HOUR, ends_at=ends_at)
        known = range(max(start, 0), min(24 if length is None else start + length, 24))
        expected += node.gpus * len(known) * 3600
    found = selectors.capacity_pieces(pool_id=pool.pk, from_at=window[0], to_at=window[1])
    total = sum(p.gpus * int((p.to_at - p.from_at).total_seconds()) for p in found)
    assert total == expected
    for piece in found:
        middle = piece.from_at + (piece.to_at - piece.from_at) / 2
        if any(now + a * HOUR <= middle < now + (a + n) * HOUR for a, n in planned):
            assert piece.condition is Condition.MAINTENANCE
        elif any(
            now + a * HOUR <= middle and (n is None or middle < now + (a + n) * HOUR)
            for a, n in broken
        ):
            assert piece.condition is Condition.DOWN
        else:
            assert piece.condition is Condition.READY
