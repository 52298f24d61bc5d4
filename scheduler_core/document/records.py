"""The objects of the contract, key by key."""

from scheduler_core import model
from scheduler_core.document.fields import (
    Field,
    choice,
    flag,
    list_of,
    number,
    optional,
    pair,
    record,
    text,
    whole,
)
from scheduler_core.resources import DEVICE

_MOST_GPUS = 65_536
_MOST_TASKS = 10**6
_LONGEST = 10**12
"""Moments and durations in seconds stay below this."""

_amount = whole()
_moment = whole(most=_LONGEST)
_seconds = whole(most=_LONGEST)
_words = list_of(text())
_maybe_text = optional(text())
_maybe_amount = optional(_amount)
_maybe_moment = optional(_moment)
_priority = whole(least=None, most=10**9)
_SCHEMA = {"schema": model.SCHEMA}

_PREEMPTION = record(
    model.Preemption,
    {
        "enabled": flag(),
        "strategies": list_of(choice(model.STRATEGIES)),
        "min_runtime_seconds": _seconds,
        "max_lost_gpu_seconds_per_cycle": _maybe_amount,
        "cost_gate": flag(),
    },
)

_HYBRID = record(
    model.Hybrid,
    {
        "high": number(1),
        "low": number(1),
        "min_dwell_seconds": _seconds,
        "mode": choice(model.MODES),
        "since": _maybe_moment,
    },
)


def _preemption(value: object) -> object:
    return model.Preemption(enabled=False) if value is None else _PREEMPTION.check(value)


_POLICY = record(
    model.Policy,
    {
        "order": choice(model.ORDERS),
        "placement": choice(model.PLACEMENT_NAMES),
        "backfill": choice(model.BACKFILLS),
        "head_blocks": flag(),
        "preemption": Field(_preemption, optional(_PREEMPTION).schema),
        "hybrid": optional(_HYBRID),
        "usage_weight_k": number(),
        "half_life_seconds": whole(1, _LONGEST),
        "aging_seconds_per_point": _seconds,
        "tick_seconds": _seconds,
        "seed": _amount,
        "usage_capacity_milli": _maybe_amount,
    },
)

_TEAM = record(
    model.Team,
    {
        "name": text(),
        "parent": _maybe_text,
        "weight": number(),
        "priority": _priority,
        "used_gpu_seconds": _amount,
    },
)

_POOL = record(
    model.Pool,
    {
        "name": text(),
        "sharing": choice(model.SHARINGS),
        "gpu_equivalent_milli": _amount,
        "topology_levels": _words,
    },
)

_QUOTA = record(
    model.Quota,
    {
        "team": text(),
        "pool": text(),
        "guaranteed": _amount,
        "limit": _maybe_amount,
        "borrowing_limit": _maybe_amount,
        "lending_limit": _maybe_amount,
        "weight": optional(number()),
        "per_user_limit": _maybe_amount,
        "valid_from": _maybe_moment,
        "valid_to": _maybe_moment,
    },
)

_RESERVATION = record(
    model.Reservation,
    {
        "id": text(),
        "team": text(),
        "pool": text(),
        "gpu_milli": _amount,
        "source": choice(model.SOURCES),
        "gpus_per_node": optional(whole(1)),
        "starts_at": _moment,
        "ends_at": _moment,
    },
)

_MAINTENANCE = record(model.Maintenance, {"node": text(), "starts_at": _moment, "ends_at": _moment})

_NODE = record(
    model.Node,
    {
        "name": text(),
        "pool": text(),
        "gpu_model": _maybe_text,
        "gpu_memory_mib": _maybe_amount,
        "gpus": whole(most=_MOST_GPUS),
        "cpu_milli": _amount,
        "memory_mib": _amount,
        "topology": _words,
        "schedulable": flag(),
        "taints": _words,
        "zone": _maybe_text,
    },
)

_PER_TASK = record(
    model.PerTask,
    {
        "gpu_milli": whole(most=_MOST_GPUS * DEVICE),
        "cpu_milli": _amount,
        "memory_mib": _amount,
        "gpu_memory_mib": _maybe_amount,
    },
)

_PLACEMENT = record(
    model.Placement,
    {
        "node": text(),
        "tasks": whole(1, _MOST_TASKS),
        "gpus": list_of(pair(whole(), whole(1, DEVICE))),
    },
)

_RUNNING = record(
    model.Running,
    {
        "started_at": _moment,
        "stopping_for": _maybe_text,
        "placements": list_of(_PLACEMENT, least=1),
    },
)

_WORKLOAD = record(
    model.Workload,
    {
        "id": text(),
        "team": text(),
        "user": _maybe_text,
        "pool": _maybe_text,
        "reservation": _maybe_text,
        "kind": choice(model.KINDS),
        "priority": _priority,
        "submitted_at": _moment,
        "tasks": whole(1, _MOST_TASKS),
        "per_task": _PER_TASK,
        "min_tasks": optional(whole(1, _MOST_TASKS)),
        "gpu_models": _words,
        "tolerations": _words,
        "zone": _maybe_text,
        "topology": optional(
            record(model.Topology, {"level": text(), "required": flag()}),
        ),
        "placement": optional(choice(model.MODES)),
        "duration_seconds": optional(_seconds),
        "preemptible": flag(),
        "target_wait_seconds": optional(_seconds),
        "checkpoint": optional(
            record(
                model.Checkpoint,
                {
                    "save_seconds": _seconds,
                    "restore_seconds": _seconds,
                    "last_saved_at": _maybe_moment,
                },
            )
        ),
        "running": optional(_RUNNING),
    },
)

POLICY = _POLICY
"""The policy alone, for those who read it from a file of its own."""

SNAPSHOT = record(
    model.Snapshot,
    {
        "now": _moment,
        "policy": _POLICY,
        "teams": list_of(_TEAM),
        "pools": list_of(_POOL),
        "quotas": list_of(_QUOTA),
        "reservations": list_of(_RESERVATION),
        "maintenance": list_of(_MAINTENANCE),
        "nodes": list_of(_NODE),
        "workloads": list_of(_WORKLOAD),
    },
    _SCHEMA,
    required=("teams", "pools", "quotas", "nodes", "workloads"),
)
"""A snapshot's own keys; what its parts say of each other is checked in `references`."""

DIVISION = record(
    model.Division,
    {
        "total": _amount,
        "k": number(),
        "teams": list_of(
            record(
                model.DivisionTeam,
                {
                    "name": text(),
                    "guaranteed": _amount,
                    "request": _amount,
                    "limit": _maybe_amount,
                    "weight": number(),
                    "priority": _priority,
                    "used": number(),
                },
            )
        ),
    },
    _SCHEMA,
)
"""A division; `used` may pass 1 when a team used more than the capacity of today."""
