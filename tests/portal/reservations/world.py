"""A small world for the arithmetic: two teams under one branch, one pool, and what may happen.

`Books` is the oracle: it counts rows instant by instant and packs blocks by trying every node.
It shares nothing with the code under test but the models.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from django.db import models, transaction

from portal.common.errors import Refusal
from portal.common.models import AuditEvent
from portal.inventory import services as inventory
from portal.inventory.models import (
    Commitment,
    MaintenanceWindow,
    Node,
    NodeOutage,
    NodeState,
    Pool,
)
from portal.inventory.services import SeenNode
from portal.quotas import services as quotas
from portal.quotas.models import Quota
from portal.reservations import services as reservations
from portal.reservations.models import Reservation, Source
from portal.teams.models import Team
from tests.builders import a_pool, a_team

ZERO = datetime(2026, 11, 2, tzinfo=UTC)
END = 40
SIZES = (4, 4, 3)
WATCHED: tuple[type[models.Model], ...] = (
    Quota, Reservation, Commitment, MaintenanceWindow, Node, NodeOutage, AuditEvent,
)  # fmt: skip


class _Undo(Exception):
    """Ends an example."""


@contextmanager
def rolled_back() -> Iterator[None]:
    """Give each example its own rows."""
    try:
        with transaction.atomic():
            yield
            raise _Undo
    except _Undo:
        pass


@dataclass
class World:
    """What stands, and the hour it is."""

    branch: Team
    teams: list[Team]
    pool: Pool
    hour: int = 0
    down: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()

    @property
    def now(self) -> datetime:
        return at(self.hour)


def at(hour: int) -> datetime:
    return ZERO + timedelta(hours=hour)


def a_world() -> World:
    branch = a_team("research")
    world = World(
        branch, [a_team("vision", parent=branch), a_team("speech", parent=branch)], a_pool()
    )
    world.listed = frozenset(names())
    list_nodes(world)
    return world


def names() -> list[str]:
    return [f"n{number}" for number in range(len(SIZES))]


def list_nodes(world: World) -> None:
    """What the cluster would list now."""
    inventory.record_nodes(
        cluster_id=world.pool.cluster_id,
        seen=[
            SeenNode(
                name=name, pool=world.pool.name, gpus=gpus, cpu_milli=1, memory_mib=1,
                ready=name not in world.down,
            )
            for name, gpus in zip(names(), SIZES, strict=True)
            if name in world.listed
        ],
        now=world.now,
    )  # fmt: skip


# What may happen; each takes the world and whatever numbers the example drew.


def edit_quota(world: World, who: int, guaranteed: int, limit: int | None, after: int) -> None:
    team = [*world.teams, world.branch][who % 3]
    quotas.change(
        team_id=team.pk, pool_id=world.pool.pk, guaranteed=guaranteed, limit=limit,
        valid_from=at(world.hour + after), actor_id=None, now=world.now,
    )  # fmt: skip


def book(
    world: World, who: int, blocks: int, shape: int | None, fenced: bool, after: int, hours: int
) -> None:
    reservations.hold(
        team_id=world.teams[who % 2].pk, pool_id=world.pool.pk, gpus=blocks * (shape or 1),
        gpus_per_node=shape, source=Source.GUARANTEE if fenced else Source.POOL,
        starts_at=at(world.hour + after), ends_at=at(world.hour + after + hours),
        zone="Asia/Seoul", actor_id=None, now=world.now,
    )  # fmt: skip


def call_off(world: World, which: int) -> None:
    found = list(Reservation.objects.order_by("pk"))
    if found:
        reservations.cancel(
            reservation_id=found[which % len(found)].pk, actor_id=None, now=world.now
        )


def hand_back(world: World, which: int) -> None:
    found = list(Reservation.objects.order_by("pk"))
    if found:
        reservations.give_back(
            reservation_id=found[which % len(found)].pk, actor_id=None, now=world.now
        )


def prolong(world: World, which: int, hours: int) -> None:
    found = list(Reservation.objects.order_by("pk"))
    if found:
        row = found[which % len(found)]
        reservations.extend(
            reservation_id=row.pk, ends_at=row.ends_at + timedelta(hours=hours), actor_id=None,
            now=world.now,
        )  # fmt: skip


def cut_short(world: World, which: int, hours: int) -> None:
    found = list(Reservation.objects.order_by("pk"))
    if found:
        row = found[which % len(found)]
        reservations.shorten(
            reservation_id=row.pk, ends_at=row.ends_at - timedelta(hours=hours), actor_id=None,
            now=world.now,
        )  # fmt: skip


def lose_or_find(world: World, which: int) -> None:
    world.listed ^= {names()[which % len(SIZES)]}
    list_nodes(world)


def break_or_mend(world: World, which: int) -> None:
    world.down ^= {names()[which % len(SIZES)]}
    list_nodes(world)


def plan_work(world: World, which: int, after: int, hours: int) -> None:
    found = list(Node.objects.filter(removed_at=None).order_by("name"))
    if found:
        inventory.plan_maintenance(
            node_id=found[which % len(found)].pk, starts_at=at(world.hour + after),
            ends_at=at(world.hour + after + hours), now=world.now, actor_id=None,
        )  # fmt: skip


def drop_work(world: World, which: int) -> None:
    found = list(MaintenanceWindow.objects.order_by("pk"))
    if found:
        inventory.cancel_maintenance(
            window_id=found[which % len(found)].pk, now=world.now, actor_id=None
        )


def wait(world: World, hours: int) -> None:
    world.hour += hours
    reservations.open_and_close_due(now=world.now)


def rows() -> list[list[dict[str, Any]]]:
    """Everything a refusal must leave alone."""
    return [list(model._default_manager.order_by("pk").values()) for model in WATCHED]


def tried(world: World, action: Callable[..., None], numbers: dict[str, Any]) -> bool:
    """Do it; a refusal must leave every row as it was."""
    before = rows()
    try:
        with transaction.atomic():
            action(world, **numbers)
    except Refusal:
        assert rows() == before, "a refused change changed something"
        return False
    return True


@dataclass(frozen=True)
class Figures:
    """What the rows say of one instant."""

    capacity: int
    promised: int
    nodes: tuple[int, ...]
    blocks: tuple[int, ...]

    @property
    def fits_by_sum(self) -> bool:
        return self.promised <= self.capacity

    @property
    def fits_by_shape(self) -> bool:
        return packs_by_force(self.blocks, self.nodes)


@dataclass(frozen=True)
class Books:
    """All rows the oracle counts, read once."""

    nodes: list[Node]
    maintenance: list[MaintenanceWindow]
    quotas: list[Quota]
    reservations: list[Reservation]

    def figures(self, instant: datetime, without_down: bool = False) -> Figures:
        """Count the rows of one instant."""
        away = {m.node_id for m in self.maintenance if holds(instant, m.starts_at, m.ends_at)}
        nodes = [
            node.gpus
            for node in self.nodes
            if holds(instant, node.first_seen_at, node.removed_at)
            and node.pk not in away
            and not (without_down and node.state == NodeState.DOWN)
        ]
        open_now = [r for r in self.reservations if is_open(r, instant)]
        promised = [
            *(q.guaranteed for q in self.quotas if holds(instant, q.valid_from, q.valid_to)),
            *(r.gpus for r in open_now if r.source == Source.POOL),
        ]
        blocks = [
            [r.gpus_per_node] * (r.gpus // r.gpus_per_node) for r in open_now if r.gpus_per_node
        ]
        return Figures(
            capacity=sum(nodes),
            promised=sum(promised),
            nodes=tuple(nodes),
            blocks=tuple(size for sizes in blocks for size in sizes),
        )

    def limits_hold(self, world: World, instant: datetime) -> bool:
        """Own limits, the branch's limit, and fences inside guarantees."""
        quotas_now = {q.team_id: q for q in self.quotas if holds(instant, q.valid_from, q.valid_to)}
        taken = {team.pk: 0 for team in [*world.teams, world.branch]}
        fenced = dict(taken)
        for team_id, quota in quotas_now.items():
            taken[team_id] += quota.guaranteed
        for row in self.reservations:
            if is_open(row, instant):
                (taken if row.source == Source.POOL else fenced)[row.team_id] += row.gpus
        taken[world.branch.pk] = sum(taken.values())
        promised = {team_id: quota.guaranteed for team_id, quota in quotas_now.items()}
        return all(aside <= promised.get(team_id, 0) for team_id, aside in fenced.items()) and all(
            quota.limit is None or taken[team_id] <= quota.limit
            for team_id, quota in quotas_now.items()
        )


def books() -> Books:
    """Read the rows."""
    return Books(
        nodes=list(Node.objects.all()),
        maintenance=list(MaintenanceWindow.objects.filter(cancelled_at=None)),
        quotas=list(Quota.objects.all()),
        reservations=list(Reservation.objects.exclude(state="cancelled")),
    )


def holds(instant: datetime, start: datetime, end: datetime | None) -> bool:
    return start <= instant and (end is None or instant < end)


def is_open(row: Reservation, instant: datetime) -> bool:
    return holds(instant, row.starts_at, row.ends_at)


def packs_by_force(blocks: tuple[int, ...], nodes: tuple[int, ...]) -> bool:
    """Try every node for every block."""
    for choice in product(range(len(nodes)), repeat=len(blocks)):
        free = list(nodes)
        for block, place in zip(blocks, choice, strict=True):
            free[place] -= block
        if all(left >= 0 for left in free):
            return True
    return not blocks
