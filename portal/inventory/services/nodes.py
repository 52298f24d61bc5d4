"""Nodes as a cluster lists them: what came, changed, went, broke and came back.

Every call compares with the rows and writes only what differs, so a listing may be repeated at
will. One audit line holds all that a listing changed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from portal.common import audit
from portal.common.errors import Missing
from portal.inventory.models import Cluster, MaintenanceWindow, Node, NodeOutage, NodeState, Pool

MOMENT = timedelta(microseconds=1)
PLAIN = ("cpu_milli", "memory_mib", "labels", "taints", "topology", "zone", "state")
"""What may change without making a new row."""


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node as the cluster shows it; `pool` is the pool's name there."""

    name: str
    pool: str
    gpus: int
    cpu_milli: int
    memory_mib: int
    ready: bool = True
    cordoned: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[object] = field(default_factory=list)
    topology: list[str] = field(default_factory=list)
    zone: str = ""
    reason: str = ""

    @property
    def state(self) -> NodeState:
        """What it may be used for."""
        if not self.ready:
            return NodeState.DOWN
        return NodeState.CORDONED if self.cordoned else NodeState.READY


@dataclass(slots=True)
class NodeChanges:
    """Ids of the rows a listing touched; `unplaced` are names whose pool nobody knows."""

    added: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, object]:
        """For the audit: what is not empty."""
        kinds = ("added", "removed", "updated", "down", "up")
        return {kind: getattr(self, kind) for kind in kinds if getattr(self, kind)}


@transaction.atomic
def record_nodes(
    *, cluster_id: int, seen: Sequence[SeenNode], now: datetime, actor_id: int | None = None
) -> NodeChanges:
    """Bring the rows in step with a whole listing of a cluster's nodes.

    A node with other GPUs or in another pool becomes a new row and keeps its planned
    maintenance; one that is not listed is removed now; one not ready opens an outage, which
    closes when it is ready again. A node of an unknown pool is left out and named in the answer.
    """
    changes = NodeChanges()
    pools = _lock_pools(cluster_id)
    known = {n.name: n for n in _open_nodes(cluster_id)}
    listed: set[str] = set()
    fresh: list[tuple[SeenNode, int]] = []
    for node in seen:
        pool_id = pools.get(node.pool)
        if pool_id is None:
            changes.unplaced.append(node.name)
            continue
        listed.add(node.name)
        row = known.get(node.name)
        if row is None:
            fresh.append((node, pool_id))
        elif _same_machine(row, node, pool_id, now):
            _update(row, node, pool_id, changes)
        else:
            _remove(row, now, changes)
            fresh.append((node, pool_id))
    for name, row in known.items():
        if name not in listed:
            _remove(row, now, changes)
    _add(cluster_id, fresh, now, changes)
    _follow_outages(cluster_id, {n.name: n for n in seen}, now, changes)
    _record(changes, cluster_id, actor_id)
    return changes


def record_node(
    *, cluster_id: int, seen: SeenNode, now: datetime, actor_id: int | None = None
) -> Node:
    """Bring one node's row in step, others untouched. Raises `Missing` for an unknown pool."""
    with transaction.atomic():
        pool_ids = _lock_pools(cluster_id)
        if seen.pool not in pool_ids:
            raise Missing
        changes = NodeChanges()
        row = _open_nodes(cluster_id).filter(name=seen.name).first()
        if row is not None and _same_machine(row, seen, pool_ids[seen.pool], now):
            _update(row, seen, pool_ids[seen.pool], changes)
        else:
            if row is not None:
                _remove(row, now, changes)
            _add(cluster_id, [(seen, pool_ids[seen.pool])], now, changes)
        _follow_outages(cluster_id, {seen.name: seen}, now, changes)
        _record(changes, cluster_id, actor_id)
        return _open_nodes(cluster_id).get(name=seen.name)


@transaction.atomic
def remove_node(*, node_id: int, now: datetime, actor_id: int | None = None) -> None:
    """Say that a node is gone from now on; twice is once. Raises `Missing`."""
    row = _get(node_id)
    if row.removed_at is None:
        changes = NodeChanges()
        _remove(row, now, changes)
        _record(changes, row.cluster_id, actor_id)


@transaction.atomic
def node_down(
    *, node_id: int, now: datetime, reason: str = "", actor_id: int | None = None
) -> None:
    """Open a node's outage; one that is down already stays so. Raises `Missing`."""
    row = _get(node_id)
    changes = NodeChanges()
    if row.removed_at is None and _open_outage(row, now, reason):
        Node.objects.filter(pk=node_id).update(state=NodeState.DOWN)
        changes.down.append(node_id)
        _record(changes, row.cluster_id, actor_id)


@transaction.atomic
def node_up(*, node_id: int, now: datetime, actor_id: int | None = None) -> None:
    """Close a node's outage, if it has one. Raises `Missing`."""
    row = _get(node_id)
    changes = NodeChanges()
    if _close_outage(node_id, now):
        Node.objects.filter(pk=node_id, state=NodeState.DOWN).update(state=NodeState.READY)
        changes.up.append(node_id)
        _record(changes, row.cluster_id, actor_id)


@transaction.atomic
def cordon(*, node_id: int, on: bool = True, actor_id: int | None = None) -> None:
    """Take a ready node out of placement, or put it back; its GPUs stay capacity."""
    row = _get(node_id)
    was, then = (
        (NodeState.READY, NodeState.CORDONED) if on else (NodeState.CORDONED, NodeState.READY)
    )
    if Node.objects.filter(pk=node_id, state=was, removed_at__isnull=True).update(state=then):
        audit.record(
            actor_id=actor_id,
            action="inventory.cordoned" if on else "inventory.uncordoned",
            target_type="node",
            target_id=row.pk,
            data={"cluster": row.cluster_id},
        )


def _get(node_id: int) -> Node:
    row = Node.objects.select_for_update(no_key=True).filter(pk=node_id).first()
    if row is None:
        raise Missing
    return row


def _lock_pools(cluster_id: int) -> dict[str, int]:
    """Capacity and promises move under the same lock."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        raise Missing
    found = Pool.objects.select_for_update(no_key=True).filter(cluster_id=cluster_id).order_by("pk")
    return {pool.name: pool.pk for pool in found}


def _open_nodes(cluster_id: int) -> QuerySet[Node]:
    return Node.objects.select_for_update(no_key=True).filter(
        cluster_id=cluster_id, removed_at__isnull=True
    )


def _same_machine(row: Node, seen: SeenNode, pool_id: int, now: datetime) -> bool:
    """Whether the row can go on; one that was first seen this very instant is simply mended."""
    return (row.gpus == seen.gpus and row.pool_id == pool_id) or row.first_seen_at >= now


def _update(row: Node, seen: SeenNode, pool_id: int, changes: NodeChanges) -> None:
    wanted = {name: getattr(seen, name) for name in PLAIN}
    wanted |= {"gpus": seen.gpus, "pool_id": pool_id, "state": seen.state.value}
    if all(getattr(row, name) == value for name, value in wanted.items()):
        return
    Node.objects.filter(pk=row.pk).update(**wanted)
    changes.updated.append(row.pk)


def _add(
    cluster_id: int, fresh: Iterable[tuple[SeenNode, int]], now: datetime, changes: NodeChanges
) -> None:
    made = Node.objects.bulk_create(
        Node(
            cluster_id=cluster_id,
            pool_id=pool_id,
            name=node.name,
            gpus=node.gpus,
            cpu_milli=node.cpu_milli,
            memory_mib=node.memory_mib,
            labels=node.labels,
            taints=node.taints,
            topology=node.topology,
            zone=node.zone,
            state=node.state,
            first_seen_at=now,
        )
        for node, pool_id in fresh
    )
    changes.added += [node.pk for node in made]
    _carry_maintenance(cluster_id, {node.name: node.pk for node in made}, now)


def _carry_maintenance(cluster_id: int, made: dict[str, int], now: datetime) -> None:
    """Work planned on a machine stays planned when its row is a new one."""
    planned = MaintenanceWindow.objects.select_related("node").filter(
        node__cluster_id=cluster_id,
        node__removed_at__isnull=False,
        cancelled_at__isnull=True,
        ends_at__gt=now,
    )
    for window in planned:
        node_id = made.get(window.node.name)
        if node_id is None:
            continue
        begun = window.starts_at < now
        MaintenanceWindow.objects.create(
            node_id=node_id,
            starts_at=max(window.starts_at, now),
            ends_at=window.ends_at,
            reason=window.reason,
            created_by_id=window.created_by_id,
        )
        MaintenanceWindow.objects.filter(pk=window.pk).update(
            **({"ends_at": now} if begun else {"cancelled_at": now})
        )


def _remove(row: Node, now: datetime, changes: NodeChanges) -> None:
    at = max(now, row.first_seen_at + MOMENT)
    _close_outage(row.pk, at)
    if Node.objects.filter(pk=row.pk, removed_at__isnull=True).update(removed_at=at):
        changes.removed.append(row.pk)


def _follow_outages(
    cluster_id: int, seen: dict[str, SeenNode], now: datetime, changes: NodeChanges
) -> None:
    down = set(
        NodeOutage.objects.filter(node__cluster_id=cluster_id, ends_at__isnull=True).values_list(
            "node_id", flat=True
        )
    )
    for row in _open_nodes(cluster_id).only("pk", "name", "first_seen_at"):
        node = seen.get(row.name)
        if node is None:
            continue
        if not node.ready and row.pk not in down:
            _open_outage(row, now, node.reason)
            changes.down.append(row.pk)
        elif node.ready and row.pk in down:
            _close_outage(row.pk, now)
            changes.up.append(row.pk)


def _open_outage(row: Node, now: datetime, reason: str) -> bool:
    _, new = NodeOutage.objects.get_or_create(
        node_id=row.pk,
        ends_at=None,
        defaults={"starts_at": max(now, row.first_seen_at), "reason": reason[:200]},
    )
    return new


def _close_outage(node_id: int, now: datetime) -> bool:
    outage = NodeOutage.objects.filter(node_id=node_id, ends_at__isnull=True).first()
    if outage is None:
        return False
    if outage.starts_at >= now:
        outage.delete()
        return True
    return bool(NodeOutage.objects.filter(pk=outage.pk, ends_at__isnull=True).update(ends_at=now))


def _record(changes: NodeChanges, cluster_id: int, actor_id: int | None) -> None:
    data = changes.as_data()
    if data:
        audit.record(
            actor_id=actor_id,
            action="inventory.nodes_recorded",
            target_type="cluster",
            target_id=cluster_id,
            data=data,
        )
