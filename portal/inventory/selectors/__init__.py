"""Reads of the inventory: frozen answers, never querysets.

`capacity` says what there is and what fits, `conflicts` what no longer adds up, `things` lists
clusters, pools, nodes and namespaces; `rows` turns rows into the calendar's spans.
"""

from portal.inventory.selectors.capacity import (
    CapacityPiece,
    Fit,
    capacity_pieces,
    capacity_steps,
    committed_steps,
    fits,
    free_gpus,
    free_steps,
    list_commitments,
    read_ahead,
)
from portal.inventory.selectors.conflicts import Cause, ConflictRow, list_conflicts
from portal.inventory.selectors.rows import CommitmentRow
from portal.inventory.selectors.things import (
    MaintenanceRow,
    NamespaceRow,
    NodeRow,
    PoolRow,
    PoolSize,
    get_pool,
    is_stale,
    list_clusters,
    list_maintenance,
    list_namespaces,
    list_nodes,
    list_pool_sizes,
    list_pools,
    namespace_teams,
    pool_models,
    pool_names,
)

__all__ = [
    "CapacityPiece",
    "Cause",
    "CommitmentRow",
    "ConflictRow",
    "Fit",
    "MaintenanceRow",
    "NamespaceRow",
    "NodeRow",
    "PoolRow",
    "PoolSize",
    "capacity_pieces",
    "capacity_steps",
    "committed_steps",
    "fits",
    "free_gpus",
    "free_steps",
    "get_pool",
    "is_stale",
    "list_clusters",
    "list_commitments",
    "list_conflicts",
    "list_maintenance",
    "list_namespaces",
    "list_nodes",
    "list_pool_sizes",
    "list_pools",
    "namespace_teams",
    "pool_models",
    "pool_names",
    "read_ahead",
]
