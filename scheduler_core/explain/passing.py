"""Reasons that pass: what quotas and nodes lack now."""

from dataclasses import replace

import numpy as np

from scheduler_core.explain.measures import gang_fits
from scheduler_core.model import NODE_LEVEL, PerTask
from scheduler_core.scratch import Need, Rules, Shape, State

Found = dict[str, dict[str, object]]


def quota_short(state: State, rules: Rules, shape: Shape, borrowers: set[int]) -> Found:
    """Return what quotas forbid now.

    `borrowers` are the teams above their entitlement where nodes are short, else nobody.
    """
    book, team = rules.book, rules.team
    milli = shape.least * shape.need.per_task.gpu_milli
    found: Found = {}
    limiting = book.breaks_limit(team, milli)
    if limiting is not None:
        found["quota_exceeded"] = {
            "team": state.tree.teams[limiting].name,
            "limit": book.terms.limits[limiting],
            "used": book.below[limiting],
            "asks": milli,
        }
    elif rules.is_too_firm(milli):
        found["quota_exceeded"] = {
            "team": state.tree.teams[team].name,
            "guaranteed": book.entitled[team],
            "used_non_preemptible": book.firm[team],
            "asks": milli,
        }
    if rules.breaks_user_limit(milli):
        found["user_limit"] = {"limit": book.terms.per_user[team], "asks": milli}
    if rules.within_guarantee(milli):
        if borrowers - {team}:
            found["lent_out"] = {
                "guaranteed": book.entitled[team],
                "used": book.own[team].gpu_milli,
                "asks": milli,
            }
    else:
        found |= _borrowing_short(state, rules, milli)
    return found


def _borrowing_short(state: State, rules: Rules, milli: int) -> Found:
    """Return `borrowing_limit` where borrowing is what stops it, not a pool that is full."""
    book = rules.book
    asked = milli + rules.fence
    available = rules.available()
    limiting = book.breaks_borrowing_limit(rules.team, asked)
    if limiting is None and asked <= available:
        return {}
    whole_pool = book.capacity.gpu_milli - sum(one.gpu_milli for one in book.own)
    if limiting is None and asked > whole_pool:
        return {}
    detail: dict[str, object] = {"available": available, "asks": milli}
    if limiting is not None:
        detail["team"] = state.tree.teams[limiting].name
        detail["limit"] = book.terms.borrowing[limiting]
    return {"borrowing_limit": detail}


def nodes_short(state: State, shape: Shape, pool: int) -> Found:
    """Return what the nodes lack now: GPUs, CPU, memory, or room in one place."""
    column = state.column(pool, shape.need)
    if gang_fits(state, shape, pool, column.tasks()):
        return {}
    where = state.nodes.slices[pool]
    open_ = column.allowed
    gpu_free = np.where(open_, state.nodes.gpu_free[where], 0)
    needs = shape.least * shape.need.per_task.gpu_milli
    free, largest = int(gpu_free.sum()), int(gpu_free.max(initial=0))
    found: Found = {}
    if needs > free:
        found["pool_full"] = {"free_gpu_milli": free, "needs_gpu_milli": needs}
    elif not _fits(state, shape, pool, cpu=False, memory=False):
        found["fragmented"] = {
            "free_gpu_milli": free,
            "largest_on_one_node": largest,
            "needs_on_one_node": _on_one_node(shape),
        }
    found |= _cpu_and_memory(state, shape, pool)
    return found


def _cpu_and_memory(state: State, shape: Shape, pool: int) -> Found:
    per_task = shape.need.per_task
    where = state.nodes.slices[pool]
    open_ = state.column(pool, shape.need).allowed
    found: Found = {}
    if not _fits(state, shape, pool, gpu=False, memory=False):
        free = int(np.where(open_, state.nodes.cpu_free[where], 0).sum())
        found["cpu_short"] = {"free_cpu_milli": free, "needs": per_task.cpu_milli * shape.least}
    if not _fits(state, shape, pool, gpu=False, cpu=False):
        free = int(np.where(open_, state.nodes.memory_free[where], 0).sum())
        needs = per_task.memory_mib * shape.least
        found["memory_short"] = {"free_memory_mib": free, "needs": needs}
    if not found and _fits(state, shape, pool, cpu=False, memory=False):
        found["memory_short" if _fits(state, shape, pool, memory=False) else "cpu_short"] = {
            "beside_free_gpus": True
        }
    return found


def _fits(
    state: State,
    shape: Shape,
    pool: int,
    *,
    gpu: bool = True,
    cpu: bool = True,
    memory: bool = True,
) -> bool:
    """Tell whether the shape would fit if only the named resources counted."""
    asked = shape.need.per_task
    per_task = PerTask(
        asked.gpu_milli if gpu else 0,
        asked.cpu_milli if cpu else 0,
        asked.memory_mib if memory else 0,
        asked.gpu_memory_mib,
    )
    need: Need = replace(shape.need, per_task=per_task)
    tasks = state.nodes.tasks(need, pool, state.nodes.slices[pool])
    open_ = state.column(pool, shape.need).allowed
    return gang_fits(state, shape, pool, np.where(open_, tasks, 0))


def _on_one_node(shape: Shape) -> int:
    topology = shape.topology
    together = topology is not None and topology.required and topology.level == NODE_LEVEL
    return shape.need.per_task.gpu_milli * (shape.least if together else 1)
