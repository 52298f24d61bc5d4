"""Promises: checked under the pool's lock, refused with numbers, never worse than before."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Conflict, Missing
from portal.inventory import selectors, services
from portal.inventory.models import Commitment, CommitmentKind, Node, Pool
from portal.inventory.services import Promise
from portal.teams.models import Team
from tests.builders import a_node, a_pool, a_team

pytestmark = pytest.mark.django_db
RESERVATION, QUOTA = CommitmentKind.RESERVATION, CommitmentKind.QUOTA
HOUR = timedelta(hours=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight GPUs."""
    return a_pool(nodes=2)


def first_node(pool: Pool) -> int:
    return pool.nodes.values_list("pk", flat=True)[0]


@pytest.fixture
def team() -> Team:
    return a_team()


def promise(pool: Pool, team: Team, now: datetime, source_id: int = 1, **given: Any) -> None:
    asked: dict[str, Any] = {
        "kind": RESERVATION, "gpus": 4, "starts_at": now + HOUR, "ends_at": now + 3 * HOUR,
    } | given  # fmt: skip
    services.commit(pool_id=pool.pk, source_id=source_id, team_id=team.pk, now=now, **asked)


def test_a_promise_within_capacity_is_kept(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, gpus=16)
    row = Commitment.objects.get()
    assert (row.gpus, row.starts_at, row.ends_at) == (16, now + HOUR, now + 3 * HOUR)


def test_a_promise_above_capacity_is_refused_with_its_numbers(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, source_id=1, gpus=7)
    promise(pool, team, now, source_id=2, gpus=6, starts_at=now + 2 * HOUR, ends_at=now + 4 * HOUR)
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, source_id=3, gpus=8)
    assert refused.value.code == "overcommitted"
    details = refused.value.details
    blocking = details.pop("blocking")
    assert details == {
        "pool_id": pool.pk,
        "measure": "sum",
        "at": (now + 2 * HOUR).isoformat(),
        "until": (now + 3 * HOUR).isoformat(),
        "capacity": 16,
        "committed": 13,
        "asked": 8,
        "free": 3,
        "gpus_per_node": None,
    }
    assert isinstance(blocking, list)
    assert [(b["source_id"], b["gpus"]) for b in blocking] == [(1, 7), (2, 6)]
    assert "has 3 of 16 GPUs free, and 8 are asked" in refused.value.message
    assert Commitment.objects.count() == 2


def test_a_shape_that_finds_no_nodes_is_refused_though_the_sum_would_fit(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, source_id=1, gpus=10, gpus_per_node=5)
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, source_id=2, gpus=4, gpus_per_node=4)
    details = refused.value.details
    assert (details["measure"], details["gpus_per_node"]) == ("shape", 4)
    assert (details["capacity"], details["committed"], details["free"]) == (16, 10, 0)
    assert "blocks of 4 on one node" in refused.value.message
    promise(pool, team, now, source_id=2, gpus=4, gpus_per_node=2)


def test_a_block_larger_than_any_node_is_refused(pool: Pool, team: Team, now: datetime) -> None:
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, gpus=16, gpus_per_node=16)
    assert refused.value.details["free"] == 0


def test_saying_it_twice_promises_it_once(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, gpus=16)
    promise(pool, team, now, gpus=16)
    assert Commitment.objects.get().gpus == 16


def test_an_edit_is_checked_like_a_new_promise_kubestellar_5457(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, source_id=1, gpus=8)
    promise(pool, team, now, source_id=2, gpus=8)
    with pytest.raises(Conflict):
        promise(pool, team, now, source_id=1, gpus=9)
    promise(pool, team, now, source_id=3, gpus=9, starts_at=now + 4 * HOUR, ends_at=None)
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, source_id=1, gpus=8, ends_at=now + 9 * HOUR)
    assert refused.value.details["at"] == (now + 4 * HOUR).isoformat()
    assert Commitment.objects.get(source_id=2).gpus == 8


def test_moving_to_another_pool_checks_the_new_pool_kubestellar_5423(
    pool: Pool, team: Team, now: datetime
) -> None:
    small = a_pool("t4", nodes=1, gpus=4)
    promise(pool, team, now, gpus=8)
    with pytest.raises(Conflict) as refused:
        promise(small, team, now, gpus=8)
    assert (refused.value.details["capacity"], refused.value.details["asked"]) == (4, 8)
    assert Commitment.objects.get().pool_id == pool.pk
    promise(small, team, now, gpus=4)
    assert Commitment.objects.get().pool_id == small.pk
    assert selectors.free_gpus(pool_id=pool.pk, from_at=now, to_at=now + 9 * HOUR) == 16


def test_without_any_node_there_is_an_upper_bound_too_kubestellar_6962(
    team: Team, now: datetime
) -> None:
    empty = a_pool("empty")
    with pytest.raises(Conflict) as refused:
        promise(empty, team, now, gpus=1)
    assert refused.value.details["capacity"] == 0


def test_capacity_comes_from_our_own_rows_and_never_from_the_asker_kubestellar_5421(
    pool: Pool, team: Team, now: datetime
) -> None:
    a_node(pool, "late", first_seen_at=now + 2 * HOUR)
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, gpus=24)
    assert refused.value.details["capacity"] == 16
    promise(pool, team, now, gpus=24, starts_at=now + 2 * HOUR)


def test_back_to_back_promises_do_not_meet(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, source_id=1, gpus=16, starts_at=now, ends_at=now + HOUR)
    promise(pool, team, now, source_id=2, gpus=16, starts_at=now + HOUR, ends_at=now + 2 * HOUR)


def test_a_pool_already_short_still_lets_a_promise_shrink(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, source_id=1, gpus=16, ends_at=None)
    services.remove_node(node_id=first_node(pool), now=now)
    promise(pool, team, now, source_id=1, gpus=12, ends_at=None)
    with pytest.raises(Conflict):
        promise(pool, team, now, source_id=1, gpus=13, ends_at=None)
    assert Commitment.objects.get().gpus == 12


def test_what_lies_before_now_is_never_checked(pool: Pool, team: Team, now: datetime) -> None:
    Node.objects.filter(pool=pool).update(first_seen_at=now)
    promise(pool, team, now, kind=QUOTA, gpus=16, starts_at=now - 9 * HOUR, ends_at=None)


def test_a_fence_adds_nothing_to_the_sum_but_needs_nodes(
    pool: Pool, team: Team, now: datetime
) -> None:
    promise(pool, team, now, source_id=1, kind=QUOTA, gpus=16, ends_at=None)
    promise(pool, team, now, source_id=2, gpus=16, gpus_per_node=8, adds=False)
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, source_id=3, gpus=4, gpus_per_node=4, adds=False)
    assert refused.value.details["measure"] == "shape"


def test_a_node_that_is_down_refuses_no_booking(pool: Pool, team: Team, now: datetime) -> None:
    for node in pool.nodes.all():
        services.node_down(node_id=node.pk, now=now)
    promise(pool, team, now, gpus=16)


def test_maintenance_takes_its_node_away_while_it_lasts(
    pool: Pool, team: Team, now: datetime
) -> None:
    services.plan_maintenance(
        node_id=first_node(pool), starts_at=now + 2 * HOUR, ends_at=now + 3 * HOUR, now=now,
        actor_id=None,
    )  # fmt: skip
    with pytest.raises(Conflict) as refused:
        promise(pool, team, now, gpus=9)
    assert refused.value.details["at"] == (now + 2 * HOUR).isoformat()
    promise(pool, team, now, gpus=16, ends_at=now + 2 * HOUR)


def test_several_promises_change_together_or_not_at_all(
    pool: Pool, team: Team, now: datetime
) -> None:
    def wanted(first: int, second: int) -> list[Promise]:
        return [
            Promise(QUOTA, source_id, team.pk, gpus, now, None)
            for source_id, gpus in ((1, first), (2, second))
        ]

    services.commit_all(pool_id=pool.pk, promises=wanted(10, 6), now=now)
    services.commit_all(pool_id=pool.pk, promises=wanted(6, 10), now=now)
    with pytest.raises(Conflict):
        services.commit_all(pool_id=pool.pk, promises=wanted(1, 16), now=now)
    assert list(Commitment.objects.order_by("source_id").values_list("gpus", flat=True)) == [6, 10]
    services.commit_all(pool_id=pool.pk, promises=wanted(16, 0)[:1], released=[(QUOTA, 2)], now=now)
    assert list(Commitment.objects.values_list("source_id", "gpus")) == [(1, 16)]


def test_no_gpus_is_no_promise(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now, gpus=3)
    promise(pool, team, now, gpus=0)
    assert not Commitment.objects.exists()


def test_an_unknown_pool_is_missing(team: Team, now: datetime) -> None:
    with pytest.raises(Missing):
        services.commit(
            pool_id=404, kind=QUOTA, source_id=1, team_id=team.pk, gpus=1, starts_at=now,
            ends_at=None, now=now,
        )  # fmt: skip


def test_letting_go_before_it_begins_leaves_nothing(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now)
    for _ in range(2):
        services.release(kind=RESERVATION, source_id=1, now=now)
    assert not Commitment.objects.exists()


def test_letting_go_later_keeps_what_was(pool: Pool, team: Team, now: datetime) -> None:
    promise(pool, team, now)
    for _ in range(2):
        services.release(kind=RESERVATION, source_id=1, now=now + 2 * HOUR, from_at=now)
    assert Commitment.objects.get().ends_at == now + 2 * HOUR
    services.release(kind=RESERVATION, source_id=1, now=now + 9 * HOUR)
    assert Commitment.objects.get().ends_at == now + 2 * HOUR
