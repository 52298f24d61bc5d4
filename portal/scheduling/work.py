"""Workload rows and what their pods hold → the engine's workloads.

What the engine would refuse is put into a shape it takes, never dropped in silence:

- Pods of unequal size (a Ray head beside its workers) are counted in their greatest common unit.
- A workload whose pods stand in several pools becomes one part a pool. The largest keeps the
  workload's name; the others are never victims, since stopping it stops them too.
- Work of no team of the tree belongs to the hidden team: weight 0, no quota, never a victim. So
  its devices are gone for everybody, nobody is charged, and it is promised nothing.
- What is said to run but holds nothing we can count is left out: it may not be started again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import gcd

from portal.common import clock
from portal.inventory.models import Pool
from portal.scheduling import holding, naming
from portal.scheduling.classing import Classing
from portal.scheduling.holding import Held, Holdings
from portal.scheduling.reading import Rows, WorkloadRow
from portal.slas.targets import Targets
from portal.workloads.classes import Classes
from portal.workloads.models import WorkloadState
from scheduler_core import model as engine

MOST_TASKS = 10**6
MOST_GPU_MILLI = 65_536_000
MOST_AMOUNT = 10**12
MOST_PRIORITY = 10**9
LONGEST = 10**9
"""People write these numbers into annotations; what no cluster can mean is cut to what it can."""

_KINDS: dict[str, engine.Kind] = {kind: kind for kind in engine.KINDS}
QUEUED = (WorkloadState.WAITING, WorkloadState.ADMITTED)
HOLDS = (*QUEUED, WorkloadState.STARTING, WorkloadState.RUNNING)


@dataclass(frozen=True, slots=True)
class Work:
    """The engine's workloads, and what is needed to write their answers back."""

    workloads: tuple[engine.Workload, ...]
    rows: dict[str, int]
    """Engine name → workload id, for those of a team; parts included."""
    pods: dict[str, tuple[int, ...]]
    """Engine name → ids of the pods it stands for."""
    stopping: frozenset[int]
    left_out: int
    has_hidden: bool


@dataclass(frozen=True, slots=True)
class _Context:
    """What building one workload looks up."""

    now: int
    teams: frozenset[int]
    pools: Mapping[int, Pool]
    reservations: Mapping[int, engine.Reservation]
    strangers: Mapping[str, int]
    estimates: Mapping[int, int]
    promised: Targets | None
    classed: Classing


def freeze_work(
    rows: Rows,
    holdings: Holdings,
    reservations: Mapping[int, engine.Reservation],
    now: int,
    promised: Targets | None = None,
    classed: Classing | None = None,
) -> Work:
    """Build every workload, in order of submission."""
    context = _Context(
        now=now,
        teams=frozenset(row.id for row in rows.teams),
        pools={pool.pk: pool for pool in rows.pools},
        reservations=reservations,
        strangers=_strangers(rows.workloads),
        estimates=rows.estimates,
        promised=promised,
        classed=classed or Classing(Classes()),
    )
    built: list[engine.Workload] = []
    owners: dict[str, int] = {}
    pods: dict[str, tuple[int, ...]] = {}
    stopping: set[int] = set()
    left_out = 0
    for row in rows.workloads:
        held = holdings.by_workload.get(row.pk, [])
        if held:
            ends = _is_stopping(row, held)
            stopping |= {row.pk} if ends else set()
            stops_for = rows.preempted_for.get(row.pk, naming.workload(row.pk)) if ends else None
            parts = _running_parts(row, held, stops_for, context)
        elif _can_wait(row, holdings, context):
            parts = [(_waiting(row, context), ())]
        else:
            parts = []
            left_out += 1
        for part, of_part in parts:
            built.append(part)
            pods[part.id] = of_part
            if part.team != naming.HIDDEN_TEAM:
                owners[part.id] = row.pk
    workloads = _stop_only_for_the_waiting(built)
    hidden = any(work.team == naming.HIDDEN_TEAM for work in workloads)
    return Work(workloads, owners, pods, frozenset(stopping), left_out, hidden)


def _strangers(workloads: Iterable[WorkloadRow]) -> dict[str, int]:
    """People only the cluster knows → the lowest id among their open workloads."""
    first: dict[str, int] = {}
    for row in workloads:
        if row.user_id is None and row.person:
            first[row.person] = min(row.pk, first.get(row.person, row.pk))
    return first


def _is_stopping(row: WorkloadRow, held: list[Held]) -> bool:
    """Whether all it holds is on its way out."""
    return row.state not in HOLDS or all(h.pod.stopping_at is not None for h in held)


def _can_wait(row: WorkloadRow, holdings: Holdings, context: _Context) -> bool:
    return (
        row.state in QUEUED
        and row.pk not in holdings.uncounted
        and row.team_id in context.teams
        and (row.pool_id is None or row.pool_id in context.pools)
    )


def _waiting(row: WorkloadRow, context: _Context) -> engine.Workload:
    """A workload that waits, with all its own terms."""
    reservation = context.reservations.get(row.reservation_id or 0)
    pool = naming.pool(row.pool_id) if row.pool_id else None
    if reservation is not None and not _is_theirs(row, reservation, pool):
        reservation = None
    return engine.Workload(
        id=naming.workload(row.pk),
        team=_team(row, context),
        user=_user(row, context),
        pool=pool,
        reservation=reservation.id if reservation else None,
        kind=_kind(row.kind),
        priority=max(-MOST_PRIORITY, min(context.classed.priority(row), MOST_PRIORITY)),
        submitted_at=min(clock.whole_seconds(row.submitted_at), context.now),
        tasks=min(row.tasks, MOST_TASKS),
        per_task=_per_task(row.gpu_milli, row.cpu_milli, row.memory_mib),
        min_tasks=None if row.min_tasks is None else min(row.min_tasks, row.tasks, MOST_TASKS),
        duration_seconds=_duration(row, context),
        preemptible=context.classed.preemptible(row),
        tolerations=context.classed.passes(row, reservation.pool if reservation else None),
        topology=context.classed.topology(row),
        placement=context.classed.placement(row),
        target_wait_seconds=_target(row, context),
        checkpoint=_checkpoint(row, context.now),
    )


@lru_cache(maxsize=4096)
def _per_task(gpu_milli: int, cpu_milli: int, memory_mib: int) -> engine.PerTask:
    """What one task asks for; thousands of jobs ask for the same."""
    return engine.PerTask(
        gpu_milli=min(holding.whole(gpu_milli), MOST_GPU_MILLI),
        cpu_milli=min(cpu_milli, MOST_AMOUNT),
        memory_mib=min(memory_mib, MOST_AMOUNT),
    )


def _is_theirs(row: WorkloadRow, reservation: engine.Reservation, pool: str | None) -> bool:
    return reservation.team == naming.team(row.team_id or 0) and pool in (None, reservation.pool)


def _team(row: WorkloadRow, context: _Context) -> str:
    known = row.team_id is not None and row.team_id in context.teams
    return naming.team(row.team_id) if known and row.team_id else naming.HIDDEN_TEAM


def _user(row: WorkloadRow, context: _Context) -> str | None:
    if row.user_id is not None:
        return naming.user(row.user_id)
    return naming.stranger(context.strangers[row.person]) if row.person else None


def _kind(word: str) -> engine.Kind:
    return _KINDS.get(word, "batch")


def _target(row: WorkloadRow, context: _Context) -> int | None:
    """How long its team was promised to wait at most when it came."""
    if row.team_id is None or context.promised is None:
        return None
    sla = context.promised.of(row.team_id, row.pool_id, row.submitted_at)
    return sla.target_wait_seconds if sla else None


def _duration(row: WorkloadRow, context: _Context) -> int | None:
    """What the job says of itself, else what nine in ten of its team's jobs took."""
    seconds = row.duration_seconds
    if seconds is None:
        seconds = context.estimates.get(row.team_id or 0)
    return None if seconds is None else min(seconds, LONGEST)


def _checkpoint(row: WorkloadRow, now: int) -> engine.Checkpoint | None:
    if row.save_seconds is None:
        return None
    saved = row.last_saved_at
    return engine.Checkpoint(
        save_seconds=row.save_seconds,
        restore_seconds=row.restore_seconds or 0,
        last_saved_at=None if saved is None else min(clock.whole_seconds(saved), now),
    )


def _running_parts(
    row: WorkloadRow, held: list[Held], stops_for: str | None, context: _Context
) -> list[tuple[engine.Workload, tuple[int, ...]]]:
    """One part a pool, the largest first."""
    by_pool: dict[int, list[Held]] = defaultdict(list)
    for one in held:
        by_pool[one.node.pool_id].append(one)
    order = sorted(by_pool, key=lambda pk: (-sum(h.gpu_milli for h in by_pool[pk]), pk))
    main, *others = order
    base = replace(_waiting(row, context), pool=naming.pool(main))
    if base.team == naming.HIDDEN_TEAM:
        base = replace(base, preemptible=False)
    reserved = context.reservations.get(row.reservation_id or 0)
    if reserved is not None and reserved.pool != base.pool:
        base = replace(base, reservation=None)
    parts = [(_part(row, base, by_pool[main], stops_for, context.now), by_pool[main])]
    for pk in others:
        lesser = replace(
            base, id=naming.part(row.pk, pk), pool=naming.pool(pk), reservation=None,
            preemptible=False, min_tasks=None,
        )  # fmt: skip
        parts.append((_part(row, lesser, by_pool[pk], stops_for, context.now), by_pool[pk]))
    return [(part, tuple(h.pod.pk for h in of_part)) for part, of_part in parts]


def _part(
    row: WorkloadRow, base: engine.Workload, held: list[Held], stops_for: str | None, now: int
) -> engine.Workload:
    """The workload as it runs in one pool: on which nodes and devices, since when."""
    sizes = {h.gpu_milli for h in held}
    if sizes == {base.per_task.gpu_milli} and base.id == naming.workload(row.pk):
        tasks, per_task, min_tasks = max(base.tasks, len(held)), base.per_task, base.min_tasks
    else:
        tasks, per_task = _common_unit(held)
        min_tasks = None
    begun = min(clock.whole_seconds(_since(h)) for h in held)
    return replace(
        base,
        tasks=tasks,
        per_task=per_task,
        min_tasks=min_tasks,
        running=engine.Running(
            started_at=min(begun, now),
            placements=_placements(held, per_task.gpu_milli),
            stopping_for=stops_for,
        ),
    )


def _since(held: Held) -> datetime:
    """When the pod took its devices; only pods that did are ever read."""
    return held.pod.scheduled_at or held.pod.created_at


def _common_unit(held: list[Held]) -> tuple[int, engine.PerTask]:
    """So many equal tasks that add up to what the pods hold together."""
    unit = gcd(*(h.gpu_milli for h in held))
    tasks = sum(h.gpu_milli for h in held) // unit if unit else len(held)
    cpu, memory = (sum(h.pod.cpu_milli for h in held), sum(h.pod.memory_mib for h in held))
    return tasks, engine.PerTask(
        gpu_milli=unit,
        cpu_milli=min(-(-cpu // tasks), MOST_AMOUNT),
        memory_mib=min(-(-memory // tasks), MOST_AMOUNT),
    )


def _placements(held: list[Held], unit: int) -> tuple[engine.Placement, ...]:
    """Pods by node. A node with nothing but pods of no GPU is left out of an uneven workload."""
    by_node: dict[str, list[Held]] = defaultdict(list)
    for one in held:
        by_node[one.node.name].append(one)
    found: list[engine.Placement] = []
    for name, there in by_node.items():
        tasks = sum(h.gpu_milli for h in there) // unit if unit else len(there)
        if tasks:
            gpus = tuple(device for h in there for device in h.devices)
            found.append(engine.Placement(node=name, tasks=tasks, gpus=gpus))
    return tuple(found)


def _stop_only_for_the_waiting(built: list[engine.Workload]) -> tuple[engine.Workload, ...]:
    """Who stops for somebody that waits no longer stops for nobody: its own name says so."""
    waiting = {work.id for work in built if work.running is None}
    done: list[engine.Workload] = []
    for work in built:
        running = work.running
        if running and running.stopping_for and running.stopping_for not in waiting:
            work = replace(work, running=replace(running, stopping_for=work.id))
        done.append(work)
    return tuple(done)
