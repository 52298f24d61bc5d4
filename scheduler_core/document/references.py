"""What the parts of a document say of each other: names, trees, periods, devices.

Each check raises `Fault` with the path inside the document.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from scheduler_core.document.fields import Fault
from scheduler_core.model import (
    NODE_LEVEL,
    Division,
    Node,
    Quota,
    Reservation,
    Snapshot,
    Team,
    Workload,
)
from scheduler_core.resources import DEVICE

_T = TypeVar("_T")


def check_snapshot(snapshot: Snapshot) -> None:
    """Refuse a snapshot whose parts do not agree with each other."""
    _names(snapshot)
    _check_tree(snapshot.teams)
    teams = {team.name for team in snapshot.teams}
    pools = {pool.name for pool in snapshot.pools}
    nodes = {node.name: node for node in snapshot.nodes}
    reservations = {entry.id: entry for entry in snapshot.reservations}
    _each("quotas", snapshot.quotas, lambda quota: _check_quota(quota, teams, pools))
    _check_quota_periods(snapshot.quotas)
    _each(
        "reservations",
        snapshot.reservations,
        lambda entry: _check_reservation(entry, teams, pools),
    )
    for number, entry in enumerate(snapshot.maintenance):
        if entry.node not in nodes:
            raise Fault(f"maintenance[{number}].node", f"unknown node {entry.node}")
        _check_period(entry.starts_at, entry.ends_at, f"maintenance[{number}].starts_at")
    for number, node in enumerate(snapshot.nodes):
        if node.pool not in pools:
            raise Fault(f"nodes[{number}].pool", f"unknown pool {node.pool}")
    _each(
        "workloads",
        snapshot.workloads,
        lambda workload: _check_workload(workload, teams, pools, reservations),
    )
    _check_running(snapshot, nodes)
    _check_hybrid(snapshot)


def check_division(division: Division) -> None:
    """Refuse a division that names a team twice or guarantees more than a limit."""
    _unique("teams", "name", (team.name for team in division.teams))
    for number, team in enumerate(division.teams):
        if team.limit is not None and team.guaranteed > team.limit:
            raise Fault(f"teams[{number}].guaranteed", "must be at most the limit")


def _each(name: str, entries: Sequence[_T], check: Callable[[_T], None]) -> None:
    number = 0
    try:
        for number, entry in enumerate(entries):  # noqa: B007 (the number is used in the fault)
            check(entry)
    except Fault as fault:
        raise fault.under(f"{name}[{number}]") from None


def _unique(list_name: str, key: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise Fault(f"{list_name}[{number}].{key}", f"{name} is there twice")
        seen.add(name)


def _names(snapshot: Snapshot) -> None:
    _unique("teams", "name", (entry.name for entry in snapshot.teams))
    _unique("pools", "name", (entry.name for entry in snapshot.pools))
    _unique("nodes", "name", (entry.name for entry in snapshot.nodes))
    _unique("reservations", "id", (entry.id for entry in snapshot.reservations))
    _unique("workloads", "id", (entry.id for entry in snapshot.workloads))
    for number, pool in enumerate(snapshot.pools):
        levels = (*pool.topology_levels, NODE_LEVEL)
        if len(set(levels)) < len(levels):
            raise Fault(f"pools[{number}].topology_levels", "names a level twice")


def _check_tree(teams: Sequence[Team]) -> None:
    parents = {team.name: team.parent for team in teams}
    rooted: set[str] = set()
    for number, team in enumerate(teams):
        path: list[str] = []
        name: str | None = team.name
        while name is not None and name not in rooted:
            if name in path:
                raise Fault(f"teams[{number}].parent", "leads round in a circle")
            path.append(name)
            parent = parents[name]
            if parent is not None and parent not in parents:
                raise Fault(f"teams[{_index(teams, name)}].parent", f"unknown team {parent}")
            name = parent
        rooted.update(path)


def _index(teams: Sequence[Team], name: str) -> int:
    return next(number for number, team in enumerate(teams) if team.name == name)


def _check_period(starts_at: int, ends_at: int, path: str) -> None:
    if starts_at >= ends_at:
        raise Fault(path, "must be before the end")


def _check_team_and_pool(team: str, pool: str, teams: set[str], pools: set[str]) -> None:
    if team not in teams:
        raise Fault("team", f"unknown team {team}")
    if pool not in pools:
        raise Fault("pool", f"unknown pool {pool}")


def _check_quota(quota: Quota, teams: set[str], pools: set[str]) -> None:
    _check_team_and_pool(quota.team, quota.pool, teams, pools)
    if quota.limit is not None and quota.guaranteed > quota.limit:
        raise Fault("guaranteed", "must be at most the limit")
    if quota.valid_from is not None and quota.valid_to is not None:
        _check_period(quota.valid_from, quota.valid_to, "valid_from")


def _check_quota_periods(quotas: Sequence[Quota]) -> None:
    """Refuse two quotas of one team in one pool that hold at the same moment."""
    seen: dict[tuple[str, str], list[Quota]] = {}
    for number, quota in enumerate(quotas):
        others = seen.setdefault((quota.team, quota.pool), [])
        if any(_overlap(quota, other) for other in others):
            raise Fault(f"quotas[{number}]", f"{quota.team} in {quota.pool} is there twice")
        others.append(quota)


def _overlap(one: Quota, other: Quota) -> bool:
    ends_before = one.valid_to is not None and (
        other.valid_from is not None and one.valid_to <= other.valid_from
    )
    starts_after = one.valid_from is not None and (
        other.valid_to is not None and other.valid_to <= one.valid_from
    )
    return not (ends_before or starts_after)


def _check_reservation(entry: Reservation, teams: set[str], pools: set[str]) -> None:
    _check_team_and_pool(entry.team, entry.pool, teams, pools)
    _check_period(entry.starts_at, entry.ends_at, "starts_at")


def _check_workload(
    workload: Workload,
    teams: set[str],
    pools: set[str],
    reservations: dict[str, Reservation],
) -> None:
    if workload.team not in teams:
        raise Fault("team", f"unknown team {workload.team}")
    if workload.pool is not None and workload.pool not in pools:
        raise Fault("pool", f"unknown pool {workload.pool}")
    milli = workload.per_task.gpu_milli
    if milli > DEVICE and milli % DEVICE:
        raise Fault("per_task.gpu_milli", f"above {DEVICE} must be a multiple of {DEVICE}")
    if workload.min_tasks is not None and workload.min_tasks > workload.tasks:
        raise Fault("min_tasks", "must be at most tasks")
    if workload.reservation is not None:
        _check_names_reservation(workload, reservations)


def _check_names_reservation(workload: Workload, reservations: dict[str, Reservation]) -> None:
    entry = reservations.get(workload.reservation or "")
    if entry is None:
        raise Fault("reservation", f"unknown reservation {workload.reservation}")
    if entry.team != workload.team:
        raise Fault("team", f"is not {entry.team}, whose reservation it names")
    if workload.pool is not None and workload.pool != entry.pool:
        raise Fault("pool", f"is not {entry.pool}, the pool of its reservation")


def _check_running(snapshot: Snapshot, nodes: dict[str, Node]) -> None:
    filled: dict[tuple[str, int], int] = {}
    reserved = {entry.id: entry.pool for entry in snapshot.reservations}
    number = 0
    try:
        for number, workload in enumerate(snapshot.workloads):  # noqa: B007 (used in the fault)
            if workload.running is not None:
                if workload.running.started_at > snapshot.now:
                    raise Fault("running.started_at", "must not be after now")
                _check_placements(workload, nodes, filled, reserved)
    except Fault as fault:
        raise fault.under(f"workloads[{number}]") from None


def _check_placements(
    workload: Workload,
    nodes: dict[str, Node],
    filled: dict[tuple[str, int], int],
    reserved: dict[str, str],
) -> None:
    assert workload.running is not None
    pool = reserved.get(workload.reservation or "")
    for number, placement in enumerate(workload.running.placements):
        path = f"running.placements[{number}]"
        node = nodes.get(placement.node)
        if node is None:
            raise Fault(f"{path}.node", f"unknown node {placement.node}")
        if node.pool != (pool or node.pool):
            raise Fault(f"{path}.node", f"is in {node.pool}, but the workload is in {pool}")
        pool = node.pool
        held = sum(milli for _, milli in placement.gpus)
        if held != placement.tasks * workload.per_task.gpu_milli:
            raise Fault(f"{path}.gpus", "must sum to tasks x gpu_milli")
        _fill_devices(placement.gpus, node, filled, path)
    if workload.running.tasks > workload.tasks:
        raise Fault("running.placements", "must not hold more than tasks")


def _fill_devices(
    gpus: tuple[tuple[int, int], ...],
    node: Node,
    filled: dict[tuple[str, int], int],
    path: str,
) -> None:
    for number, (index, milli) in enumerate(gpus):
        if index >= node.gpus:
            raise Fault(f"{path}.gpus[{number}][0]", f"{node.name} has {node.gpus} devices")
        total = filled.get((node.name, index), 0) + milli
        if total > DEVICE:
            raise Fault(f"{path}.gpus[{number}]", f"fills the device above {DEVICE}")
        filled[node.name, index] = total


def _check_hybrid(snapshot: Snapshot) -> None:
    hybrid = snapshot.policy.hybrid
    if hybrid is not None and hybrid.low > hybrid.high:
        raise Fault("policy.hybrid.low", "must be at most high")
