"""Writes of the inventory, all of them safe to repeat.

`commitments` promises capacity and lets it go, `nodes` follows what clusters list, `maintenance`
plans work, `places` registers clusters, pools and namespaces.
"""

from portal.inventory.services.commitments import (
    Promise,
    commit,
    commit_all,
    lock_pool,
    refusal,
    release,
)
from portal.inventory.services.maintenance import (
    cancel_maintenance,
    plan_maintenance,
    plan_on_all,
)
from portal.inventory.services.nodes import (
    NodeChanges,
    SeenNode,
    cordon,
    node_down,
    node_up,
    record_node,
    record_nodes,
    remove_node,
)
from portal.inventory.services.places import (
    change_cluster,
    change_pool,
    mark_failed,
    mark_read,
    register_cluster,
    register_gpu_model,
    register_namespace,
    register_pool,
)

__all__ = [
    "NodeChanges",
    "Promise",
    "SeenNode",
    "cancel_maintenance",
    "change_cluster",
    "change_pool",
    "commit",
    "commit_all",
    "cordon",
    "lock_pool",
    "mark_failed",
    "mark_read",
    "node_down",
    "node_up",
    "plan_maintenance",
    "plan_on_all",
    "record_node",
    "record_nodes",
    "refusal",
    "register_cluster",
    "register_gpu_model",
    "register_namespace",
    "register_pool",
    "release",
    "remove_node",
]
