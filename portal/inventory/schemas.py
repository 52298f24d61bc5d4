"""What the room's API answers, as JSON Schema."""

from portal.common.api_shapes import (
    COUNT,
    FLAG,
    ID,
    INSTANT,
    NAMED,
    TEXT,
    WHOLE,
    many,
    named,
    obj,
    one_of,
    or_null,
)
from portal.inventory.calendar import Condition, Measure
from portal.inventory.models import CommitmentKind, NodeState, Sharing
from portal.inventory.selectors import Cause

POOL = named(
    "Pool",
    obj(
        {
            "id": ID, "name": TEXT, "cluster": NAMED, "gpu_model": TEXT,
            "memory_mib": or_null(COUNT), "sharing": one_of(Sharing.values),
            "resource_name": TEXT, "gpu_equivalent_milli": COUNT, "nodes": COUNT,
            "largest_node": COUNT, "gpus": COUNT, "ready": COUNT, "maintenance": COUNT,
            "down": COUNT, "committed": COUNT, "free": WHOLE,
        }
    ),
)  # fmt: skip
NODE = named(
    "Node",
    obj(
        {
            "id": ID, "name": TEXT, "cluster": ID, "pool": NAMED, "gpus": COUNT,
            "cpu_milli": COUNT, "memory_mib": COUNT, "zone": TEXT, "topology": many(TEXT),
            "state": one_of(NodeState.values), "condition": one_of(Condition),
            "first_seen_at": INSTANT, "down_since": or_null(INSTANT),
        }
    ),
)  # fmt: skip
BLOCK = named(
    "Block",
    obj(
        {
            "kind": one_of(CommitmentKind.values), "team": NAMED, "quota": or_null(ID),
            "reservation": or_null(ID), "gpus": COUNT, "gpus_per_node": or_null(ID),
            "adds": FLAG, "starts_at": INSTANT, "ends_at": or_null(INSTANT),
        }
    ),
)  # fmt: skip
MAINTENANCE = named(
    "Maintenance",
    obj(
        {
            "id": ID, "node": TEXT, "pool": ID, "gpus": COUNT, "starts_at": INSTANT,
            "ends_at": INSTANT, "drain_from": or_null(INSTANT), "reason": TEXT,
        }
    ),
)  # fmt: skip
CONFLICT = named(
    "Conflict",
    obj(
        {
            "pool": NAMED, "measure": one_of(Measure), "cause": one_of(Cause), "from": INSTANT,
            "to": or_null(INSTANT), "worst_at": INSTANT, "capacity": COUNT, "committed": COUNT,
            "short": COUNT, "down": COUNT, "maintenance": COUNT, "blocks": many(BLOCK),
        }
    ),
)  # fmt: skip
STEP = named("Step", obj({"from": INSTANT, "to": or_null(INSTANT), "gpus": WHOLE}))
CALENDAR = named(
    "PoolCalendar",
    obj(
        {
            "pool": NAMED, "from": INSTANT, "to": INSTANT, "as_of": INSTANT,
            "capacity": many(STEP), "committed": many(STEP), "free": many(STEP),
            "blocks": many(BLOCK), "maintenance": many(MAINTENANCE),
        }
    ),
)  # fmt: skip
