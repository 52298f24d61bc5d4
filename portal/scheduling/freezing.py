"""Rows → the snapshot of one cluster, by names that tell nobody anything.

The engine sees whole seconds and milli-GPU. What rows say that the contract refuses (periods
within one second, overlapping quotas, teams without a place in the tree) is mended here, so that
a strange row costs its owner an odd answer and never everybody the tick.

Work of no team is hard: its devices are taken, yet nobody may be charged, and the contract knows
no workload without a team. It goes to a hidden team of weight 0 without a quota: its use counts at
the root of the tree, so what others may borrow shrinks by it, while it is promised nothing.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from math import floor

from portal.common import clock
from portal.inventory.models import Node, NodeState, Pool, Sharing
from portal.quotas.models import Quota
from portal.reservations.models import Source
from portal.scheduling import classing, expecting, holding, naming, policies, reading
from portal.scheduling.classing import Classing
from portal.scheduling.models import Policy
from portal.scheduling.reading import Rows
from portal.scheduling.work import Work, freeze_work
from portal.slas import targets
from portal.slas.services import LONGEST_WAIT
from portal.slas.targets import Targets
from portal.teams.selectors import Tree
from portal.usage.models import DecayedUse
from scheduler_core import model as engine
from scheduler_core.resources import DEVICE


@dataclass(frozen=True, slots=True)
class Frozen:
    """A snapshot, and what recording needs to find the rows again."""

    snapshot: engine.Snapshot
    policy: Policy | None
    work: Work
    charges: dict[int, str]
    """Pod id → what it is charged to now."""
    gpu_equivalents: dict[int, int]
    """Pool id → milli-GPU equivalents of one device."""
    notes: tuple[str, ...]
    """What could not be counted, for the tick's message."""


def freeze(*, cluster_id: int, now: datetime) -> Frozen:
    """Read a cluster's rows and build its snapshot; the same rows give the same snapshot."""
    rows = reading.read(cluster_id=cluster_id, now=now)
    policy = policies.get_policy(cluster_id=cluster_id, now=now)
    last = policies.last_tick(cluster_id=cluster_id)
    rules = policies.rules_of(policy, cluster_id=cluster_id)
    tree = Tree(rows=tuple(rows.teams))
    promised = targets.get_targets(now=now, from_at=now - LONGEST_WAIT, tree=tree)
    classed = classing.read(rows.workloads, rows.pools, now)
    effective = policies.effective(rules, last=last, now=now)
    return build(rows, policy, effective, now, promised, classed)


def build(
    rows: Rows,
    policy: Policy | None,
    rules: engine.Policy,
    now: datetime,
    promised: Targets | None = None,
    classed: Classing | None = None,
) -> Frozen:
    """Build the snapshot of what was read."""
    moment = clock.whole_seconds(now)
    known = frozenset(row.id for row in rows.teams)
    to_come = expecting.expected(rows.admissions, rows.workloads, rows.pods, rows.nodes)
    holdings = holding.hold([*rows.pods, *to_come], {node.pk: node for node in rows.nodes})
    reservations = _reservations(rows, known)
    work = freeze_work(rows, holdings, reservations, moment, promised, classed)
    snapshot = engine.Snapshot(
        now=moment,
        policy=rules,
        teams=_teams(rows, rules.half_life_seconds, now, hidden=work.has_hidden),
        pools=tuple(_pool(pool) for pool in rows.pools),
        quotas=_quotas(rows.quotas, known, moment),
        reservations=tuple(reservations.values()),
        maintenance=_maintenance(rows),
        nodes=_nodes(rows, holdings.overfull | _draining(rows, now), classed),
        workloads=work.workloads,
    )
    return Frozen(
        snapshot=snapshot,
        policy=policy,
        work=work,
        charges={pod.pk: pod.charged_to for pod in rows.pods},
        gpu_equivalents={pool.pk: pool.gpu_equivalent_milli for pool in rows.pools},
        notes=_notes(rows, holdings.overfull, work),
    )


def decayed(use: DecayedUse | None, *, half_life_seconds: int, now: datetime) -> float:
    """A team's use at `now`, in GPU-equivalent seconds; time going back counts as no time."""
    if use is None:
        return 0.0
    passed = max(0.0, (now - use.as_of).total_seconds())
    return float(use.gpu_seconds * 0.5 ** (passed / half_life_seconds))


def _teams(
    rows: Rows, half_life_seconds: int, now: datetime, *, hidden: bool
) -> tuple[engine.Team, ...]:
    """The tree, parents first; the hidden team last, when it has work."""
    found = [
        engine.Team(
            name=naming.team(row.id),
            parent=naming.team(row.parent_id) if row.parent_id else None,
            weight=row.weight,
            priority=row.priority,
            used_gpu_seconds=floor(
                decayed(rows.decayed.get(row.id), half_life_seconds=half_life_seconds, now=now)
            ),
        )
        for row in rows.teams
    ]
    if hidden:
        found.append(engine.Team(name=naming.HIDDEN_TEAM, weight=0))
    return tuple(found)


def _pool(pool: Pool) -> engine.Pool:
    """A pool; MIG instances are its devices, so only shared pools share."""
    return engine.Pool(
        name=naming.pool(pool.pk),
        sharing="shared" if pool.sharing == Sharing.SHARED else "dedicated",
        gpu_equivalent_milli=pool.gpu_equivalent_milli,
        topology_levels=_levels(pool),
    )


def _levels(pool: Pool) -> tuple[str, ...]:
    """The pool's levels, each once; the last, the node itself, goes without saying."""
    return tuple(dict.fromkeys(w for w in _texts(pool.topology_levels) if w != engine.NODE_LEVEL))


def _quotas(rows: list[Quota], known: frozenset[int], now: int) -> tuple[engine.Quota, ...]:
    """What holds now and what is dated ahead. Of two at one moment the later begun counts."""
    of_pair: dict[tuple[int, int], list[Quota]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.valid_from, row.pk)):
        if row.team_id in known:
            of_pair[row.pool_id, row.team_id].append(row)
    found: list[engine.Quota] = []
    for pair in sorted(of_pair):
        dated = of_pair[pair]
        starts = [clock.whole_seconds(row.valid_from) for row in dated]
        for number, row in enumerate(dated):
            begins = starts[number]
            ends = [clock.whole_seconds(row.valid_to)] if row.valid_to else []
            ends += starts[number + 1 : number + 2]
            if not ends or min(ends) > max(begins, now):
                found.append(_quota(row, begins if begins > now else None, min(ends, default=None)))
    return tuple(found)


def _quota(row: Quota, valid_from: int | None, valid_to: int | None) -> engine.Quota:
    return engine.Quota(
        team=naming.team(row.team_id),
        pool=naming.pool(row.pool_id),
        guaranteed=row.guaranteed * DEVICE,
        limit=_milli(row.limit),
        borrowing_limit=_milli(row.borrowing_limit),
        lending_limit=_milli(row.lending_limit),
        weight=row.weight,
        per_user_limit=_milli(row.per_user_limit),
        valid_from=valid_from,
        valid_to=valid_to,
    )


def _milli(devices: int | None) -> int | None:
    return None if devices is None else devices * DEVICE


def _reservations(rows: Rows, known: frozenset[int]) -> dict[int, engine.Reservation]:
    """Pending and active ones by id, of teams that stand in the tree."""
    found: dict[int, engine.Reservation] = {}
    for row in rows.reservations:
        starts, ends = clock.whole_seconds(row.starts_at), clock.whole_seconds(row.ends_at)
        if row.team_id in known and starts < ends:
            found[row.pk] = engine.Reservation(
                id=naming.reservation(row.pk),
                team=naming.team(row.team_id),
                pool=naming.pool(row.pool_id),
                gpu_milli=row.gpus * DEVICE,
                source="guarantee" if row.source == Source.GUARANTEE else "pool",
                gpus_per_node=row.gpus_per_node,
                starts_at=starts,
                ends_at=ends,
            )
    return found


def _maintenance(rows: Rows) -> tuple[engine.Maintenance, ...]:
    names = {node.pk: node.name for node in rows.nodes}
    found = [
        engine.Maintenance(
            node=names[row.node_id],
            starts_at=clock.whole_seconds(row.starts_at),
            ends_at=clock.whole_seconds(row.ends_at),
        )
        for row in rows.maintenance
        if row.node_id in names
    ]
    return tuple(window for window in found if window.starts_at < window.ends_at)


def _draining(rows: Rows, now: datetime) -> frozenset[int]:
    """Nodes on which nothing new starts, since work on them is planned."""
    return frozenset(
        row.node_id
        for row in rows.maintenance
        if row.drain_from is not None and row.drain_from <= now < row.ends_at
    )


def _nodes(rows: Rows, closed: frozenset[int], classed: Classing | None) -> tuple[engine.Node, ...]:
    pools = {pool.pk: pool for pool in rows.pools}
    marks = {pk: classed.mark(pk) if classed else () for pk in pools}
    return tuple(
        _node(node, pools[node.pool_id], closed, marks[node.pool_id]) for node in rows.nodes
    )


def _node(node: Node, pool: Pool, closed: frozenset[int], marks: tuple[str, ...]) -> engine.Node:
    """A node; one that carries more than it has, or is drained, takes nothing new."""
    return engine.Node(
        name=node.name,
        pool=naming.pool(node.pool_id),
        gpu_model=pool.gpu_model.name,
        gpu_memory_mib=pool.gpu_model.memory_mib,
        gpus=node.gpus,
        cpu_milli=node.cpu_milli,
        memory_mib=node.memory_mib,
        topology=_texts(node.topology)[: len(_levels(pool))],
        schedulable=node.state == NodeState.READY and node.pk not in closed,
        taints=(*_taints(node, pool.resource_name), *marks),
        zone=node.zone or None,
    )


def _taints(node: Node, resource_name: str) -> tuple[str, ...]:
    """`key=value` of what keeps pods away; every device pod tolerates its own resource's taint."""
    found: list[str] = []
    for taint in node.taints if isinstance(node.taints, list) else []:
        match taint:
            case {"effect": "PreferNoSchedule"}:
                continue
            case {"key": str(key)} if key:
                value = str(taint.get("value") or "")
                text = f"{key}={value}" if value else key
            case str(text) if text:
                key = text.partition("=")[0]
            case _:
                continue
        if key != resource_name:
            found.append(text)
    return tuple(found)


def _texts(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(entry for entry in entries if isinstance(entry, str) and entry)


def _notes(rows: Rows, overfull: frozenset[int], work: Work) -> tuple[str, ...]:
    """Sentences for those who run the installation."""
    names = [node.name for node in rows.nodes if node.pk in overfull]
    notes: list[str] = []
    if names:
        notes.append(f"More pods than devices on {', '.join(names)}: it takes no new work.")
    if work.left_out:
        notes.append(f"{work.left_out} open workloads could not be counted and were left out.")
    return tuple(notes)
