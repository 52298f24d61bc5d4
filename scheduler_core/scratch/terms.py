"""What the teams are entitled to at a moment, read from quotas and reservations."""

from typing import Any

from scheduler_core.metrics import TeamTree
from scheduler_core.model import Snapshot
from scheduler_core.scratch.ledger import Entitlement


def entitlements(snapshot: Snapshot, tree: TeamTree, moment: int) -> list[Entitlement]:
    """Return, for each pool, what holds at the moment."""
    return [_of_pool(snapshot, tree, pool.name, moment) for pool in snapshot.pools]


def boundaries(snapshot: Snapshot) -> list[int]:
    """Return the moments after `now` at which some entitlement changes, in order."""
    moments: set[int | None] = set()
    for quota in snapshot.quotas:
        moments |= {quota.valid_from, quota.valid_to}
    for entry in snapshot.reservations:
        moments |= {entry.starts_at, entry.ends_at}
    return sorted(moment for moment in moments if moment is not None and moment > snapshot.now)


def _of_pool(snapshot: Snapshot, tree: TeamTree, pool: str, moment: int) -> Entitlement:
    quotas = {
        tree.index[quota.team]: quota
        for quota in snapshot.quotas
        if quota.pool == pool and quota.valid_at(moment)
    }
    numbers = range(len(tree))

    def column(name: str, absent: Any) -> list[Any]:
        return [getattr(quotas[one], name) if one in quotas else absent for one in numbers]

    return Entitlement(
        guaranteed=column("guaranteed", 0),
        reserved=_reserved(snapshot, tree, pool, moment, "pool"),
        fenced=_reserved(snapshot, tree, pool, moment, "guarantee"),
        limits=column("limit", None),
        borrowing=column("borrowing_limit", None),
        lending=column("lending_limit", None),
        per_user=column("per_user_limit", None),
        weights=[
            tree.teams[number].weight if weight is None else weight
            for number, weight in enumerate(column("weight", None))
        ],
        has_quota=[number in quotas for number in numbers],
    )


def _reserved(snapshot: Snapshot, tree: TeamTree, pool: str, moment: int, source: str) -> list[int]:
    sums = [0] * len(tree)
    for entry in snapshot.reservations:
        if entry.pool == pool and entry.source == source and entry.open_at(moment):
            sums[tree.index[entry.team]] += entry.gpu_milli
    return sums
