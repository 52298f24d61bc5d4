"""Clusters, pools, nodes and namespaces as pages and the engine see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, Q, Subquery, Sum

from portal.common import pages
from portal.common.errors import Missing
from portal.common.pages import once_a_page
from portal.inventory import calendar
from portal.inventory.calendar import Condition, Period
from portal.inventory.models import (
    Cluster,
    MaintenanceWindow,
    NamespaceOwner,
    Node,
    Pool,
)
from portal.inventory.selectors import rows


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool and its GPUs at an instant: `gpus` = ready + maintenance + down.

    `committed` is what guarantees and reservations were promised; `free` what is left of the
    GPUs not in maintenance, below zero in a conflict.
    """

    id: int
    name: str
    cluster_id: int
    cluster_name: str
    gpu_model: str
    memory_mib: int | None
    sharing: str
    resource_name: str
    gpu_equivalent_milli: int
    topology_levels: tuple[str, ...]
    position: int
    nodes: int
    gpus: int
    ready: int
    maintenance: int
    down: int
    committed: int
    largest_node: int

    @property
    def free(self) -> int:
        """GPUs not in maintenance that nobody was promised."""
        return self.gpus - self.maintenance - self.committed


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node at an instant."""

    id: int
    name: str
    cluster_id: int
    pool_id: int
    pool_name: str
    gpus: int
    cpu_milli: int
    memory_mib: int
    labels: dict[str, str]
    taints: list[object]
    topology: list[str]
    zone: str
    state: str
    condition: Condition
    first_seen_at: datetime
    removed_at: datetime | None
    down_since: datetime | None


@dataclass(frozen=True, slots=True)
class MaintenanceRow:
    """Planned work on a node."""

    id: int
    node_id: int
    node_name: str
    pool_id: int
    gpus: int
    starts_at: datetime
    ends_at: datetime
    reason: str
    drain_from: datetime | None = None

    @property
    def drains(self) -> bool:
        """Whether nothing new starts there for a while before."""
        return self.drain_from is not None and self.drain_from < self.starts_at


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace and whose it is at an instant; None is nobody's."""

    id: int
    cluster_id: int
    name: str
    team_id: int | None


@once_a_page
def pool_names() -> dict[int, str]:
    """Every pool's name by id, in the order pools are listed in; names are open to all."""
    return {pool.pk: pool.name for pool in rows.get_pools()}


def pool_models() -> dict[int, int]:
    """The GPU model of each pool."""
    return {pool.pk: pool.gpu_model_id for pool in rows.get_pools()}


def _instant(at: datetime) -> Period:
    return Period(at, at + timedelta(microseconds=1))


def _since(at: datetime) -> Period:
    """From an instant on, as conflicts look ahead: a page that shows both reads once."""
    return Period(at, calendar.FOREVER)


def _lives_at(pools: Iterable[int], at: datetime) -> dict[int, list[rows.NodeLife]]:
    """What is known of the nodes there are at an instant."""
    return {
        pool: [life for life in lives if life.known.from_at <= at]
        for pool, lives in rows.get_lives(pools, _since(at)).items()
    }


def list_pools(
    *, now: datetime, cluster_id: int | None = None, pool_ids: Sequence[int] | None = None
) -> list[PoolRow]:
    """Pools with their figures at an instant, cheapest first within a cluster."""
    found = [
        pool
        for pool in rows.get_pools()
        if cluster_id in (None, pool.cluster_id) and (pool_ids is None or pool.pk in pool_ids)
    ]
    ids = [pool.pk for pool in found]
    lives = _lives_at(ids, now)
    committed = dict.fromkeys(ids, 0)
    for row in rows.get_commitments(ids, _since(now)):
        committed[row.pool_id] += row.gpus * row.adds * (row.starts_at <= now)
    return [_pool_row(pool, lives.get(pool.pk, []), committed[pool.pk]) for pool in found]


@dataclass(frozen=True, slots=True)
class PoolSize:
    """A pool and all its GPUs at an instant, whatever their condition."""

    id: int
    name: str
    gpu_model: str
    gpus: int


def list_pool_sizes(*, now: datetime) -> list[PoolSize]:
    """Pools with as little as pictures of teams need: one query."""
    there = rows.overlapping(_instant(now), "first_seen_at", "removed_at")
    nodes = Node.objects.filter(there, pool_id=OuterRef("pk")).order_by().values("pool_id")
    gpus = Subquery(nodes.annotate(gpus=Sum("gpus")).values("gpus"))
    pools: tuple[Pool, ...] = tuple(rows.query_pools().annotate(there=gpus))
    pages.known(rows.get_pools, pools)
    return [
        PoolSize(pool.pk, pool.name, pool.gpu_model.name, getattr(pool, "there", 0) or 0)
        for pool in pools
    ]


def _pool_row(pool: Pool, lives: Sequence[rows.NodeLife], committed: int) -> PoolRow:
    by_condition = dict.fromkeys(Condition, 0)
    for life in lives:
        by_condition[life.pieces()[0].condition] += life.gpus
    return PoolRow(
        id=pool.pk,
        name=pool.name,
        cluster_id=pool.cluster_id,
        cluster_name=pool.cluster.name,
        gpu_model=pool.gpu_model.name,
        memory_mib=pool.gpu_model.memory_mib,
        sharing=pool.sharing,
        resource_name=pool.resource_name,
        gpu_equivalent_milli=pool.gpu_equivalent_milli,
        topology_levels=tuple(pool.topology_levels),
        position=pool.position,
        nodes=len(lives),
        gpus=sum(by_condition.values()),
        ready=by_condition[Condition.READY],
        maintenance=by_condition[Condition.MAINTENANCE],
        down=by_condition[Condition.DOWN],
        committed=committed,
        largest_node=max((life.gpus for life in lives), default=0),
    )


def get_pool(*, pool_id: int, now: datetime) -> PoolRow:
    """One pool. Raises `Missing`."""
    found = list_pools(now=now, pool_ids=[pool_id])
    if not found:
        raise Missing
    return found[0]


def list_nodes(
    *, now: datetime, cluster_id: int | None = None, pool_id: int | None = None
) -> list[NodeRow]:
    """Nodes known at an instant, by pool and name."""
    names = {
        pool.pk: pool.name
        for pool in rows.get_pools()
        if cluster_id in (None, pool.cluster_id) and pool_id in (None, pool.pk)
    }
    found = rows.get_whole_nodes(frozenset(names), _since(now))
    lives = {life.id: life for pool in _lives_at(names, now).values() for life in pool}
    return [
        _node_row(node, lives[node.pk], names[node.pool_id]) for node in found if node.pk in lives
    ]


def _down_since(life: rows.NodeLife) -> datetime | None:
    """Since when a node is down that nobody has seen come back."""
    return max((p.from_at for p in life.outages if p.to_at == calendar.FOREVER), default=None)


def _node_row(node: Node, life: rows.NodeLife, pool_name: str) -> NodeRow:
    return NodeRow(
        id=node.pk,
        name=node.name,
        cluster_id=node.cluster_id,
        pool_id=node.pool_id,
        pool_name=pool_name,
        gpus=node.gpus,
        cpu_milli=node.cpu_milli,
        memory_mib=node.memory_mib,
        labels=node.labels,
        taints=node.taints,
        topology=node.topology,
        zone=node.zone,
        state=node.state,
        condition=life.pieces()[0].condition,
        first_seen_at=node.first_seen_at,
        removed_at=node.removed_at,
        down_since=_down_since(life),
    )


def list_maintenance(
    *,
    from_at: datetime,
    to_at: datetime | None = None,
    pool_id: int | None = None,
    cluster_id: int | None = None,
) -> list[MaintenanceRow]:
    """Planned work that meets the window, its drain too, cancelled work left out."""
    window = rows.window_of(from_at, to_at)
    found = MaintenanceWindow.objects.select_related("node").filter(cancelled_at__isnull=True)
    drains = Q(drain_from__lt=window.to_at, ends_at__gt=window.from_at)
    found = found.filter(rows.overlapping(window, "starts_at", "ends_at") | drains)
    if pool_id is not None:
        found = found.filter(node__pool_id=pool_id)
    if cluster_id is not None:
        found = found.filter(node__cluster_id=cluster_id)
    return [
        MaintenanceRow(
            id=m.pk,
            node_id=m.node_id,
            node_name=m.node.name,
            pool_id=m.node.pool_id,
            gpus=m.node.gpus,
            starts_at=m.starts_at,
            ends_at=m.ends_at,
            reason=m.reason,
            drain_from=m.drain_from,
        )
        for m in found.order_by("starts_at", "id")
    ]


def list_namespaces(
    *, now: datetime, cluster_id: int | None = None, team_id: int | None = None
) -> list[NamespaceRow]:
    """Namespaces that belong to a team at an instant, by cluster and name."""
    owners = NamespaceOwner.objects.select_related("namespace").filter(
        rows.overlapping(_instant(now), "valid_from", "valid_to")
    )
    if cluster_id is not None:
        owners = owners.filter(namespace__cluster_id=cluster_id)
    if team_id is not None:
        owners = owners.filter(team_id=team_id)
    return [
        NamespaceRow(
            id=o.namespace_id,
            cluster_id=o.namespace.cluster_id,
            name=o.namespace.name,
            team_id=o.team_id,
        )
        for o in owners.order_by("namespace__cluster_id", "namespace__name")
    ]


def namespace_teams(*, cluster_id: int, now: datetime) -> dict[str, int]:
    """Namespace name → team id at an instant; a name that is absent is nobody's."""
    found = list_namespaces(now=now, cluster_id=cluster_id)
    return {row.name: row.team_id for row in found if row.team_id is not None}


def list_clusters() -> list[Cluster]:
    """All clusters."""
    return list(Cluster.objects.order_by("id"))


def is_stale(*, cluster: Cluster, real_now: datetime) -> bool:
    """Whether the last good read is older than the cluster's limit, in real time."""
    if cluster.seen_real_at is None:
        return True
    return real_now - cluster.seen_real_at > timedelta(seconds=cluster.stale_after_seconds)
