"""What a tick would decide now, also of a job not yet handed in; nothing is written."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from portal.scheduling import freezing, naming
from portal.scheduling.models import Verb
from portal.scheduling.sentences import Said
from portal.workloads.models import Workload
from scheduler_core import model as engine
from scheduler_core import planner
from scheduler_core.resources import DEVICE


def rehearse(*, cluster_id: int, now: datetime) -> list[str]:
    """Decide on the rows as they are: every start, every job that makes room, and the sums."""
    frozen = freezing.freeze(cluster_id=cluster_id, now=now)
    plan = planner.plan(frozen.snapshot)
    names = _names(frozen.work.rows)
    return [*_moves(plan, names), _sums(plan)]


def _names(rows: dict[str, int]) -> dict[str, str]:
    """Engine name → what people call it."""
    found = Workload.objects.filter(pk__in=rows.values()).values_list("pk", "namespace", "name")
    spelled = {pk: f"{namespace}/{name}" for pk, namespace, name in found}
    return {engine: spelled[pk] for engine, pk in rows.items() if pk in spelled}


def _moves(plan: engine.Plan, names: dict[str, str]) -> Iterator[str]:
    for start in plan.starts:
        nodes = ", ".join(sorted({placed.node for placed in start.placements}))
        yield f"start {names.get(start.workload, start.workload)} on {nodes}"
    for victim in plan.preemptions:
        name, other = (names.get(one, one) for one in (victim.workload, victim.for_))
        yield f"make room: {name} for {other} ({victim.why})"


def _sums(plan: engine.Plan) -> str:
    return (
        f"{len(plan.starts)} start, {len(plan.preemptions)} make room, "
        f"{len(plan.running)} run, {len(plan.waiting)} wait"
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """A job nobody has handed in yet: so many equal pods, GPUs, CPU and memory of each."""

    team_id: int
    pool_id: int
    tasks: int
    gpus: int
    cpu_milli: int = 0
    memory_mib: int = 0
    user_id: int | None = None
    kind: str = "batch"
    duration_seconds: int | None = None
    save_seconds: int | None = None
    restore_seconds: int | None = None
    reservation_id: int | None = None


def ask(*, cluster_id: int, wish: Wish, now: datetime) -> Said:
    """What the engine would say of a job, were it handed in now behind all the others."""
    frozen = freezing.freeze(cluster_id=cluster_id, now=now)
    snapshot = frozen.snapshot
    if naming.team(wish.team_id) not in {team.name for team in snapshot.teams}:
        return Said(Verb.WAIT, "no_quota_in_pool", _nothing(wish))
    job = _job(wish, snapshot)
    plan = planner.plan(replace(snapshot, workloads=(*snapshot.workloads, job)))
    start = next((one for one in plan.starts if one.workload == job.id), None)
    if start is not None:
        detail = {
            "after": list(start.after),
            "placements": [{"node": place.node} for place in start.placements],
        }
        return Said(Verb.START, "", detail, start.charged_to)
    waits = next((one for one in plan.waiting if one.workload == job.id), None)
    if waits is None:
        return Said()
    planned = waits.planned_start
    return Said(
        Verb.WAIT, waits.reason, dict(waits.detail), position=waits.position,
        planned_start=None if planned is None else datetime.fromtimestamp(planned, UTC),
    )  # fmt: skip


def _nothing(wish: Wish) -> dict[str, object]:
    return {"team": naming.team(wish.team_id), "pool": naming.pool(wish.pool_id)}


def _job(wish: Wish, snapshot: engine.Snapshot) -> engine.Workload:
    reservation = naming.reservation(wish.reservation_id) if wish.reservation_id else None
    known = {row.id for row in snapshot.reservations}
    checkpoint = None
    if wish.save_seconds is not None:
        checkpoint = engine.Checkpoint(wish.save_seconds, wish.restore_seconds or 0)
    return engine.Workload(
        id=naming.workload(0),
        team=naming.team(wish.team_id),
        user=naming.user(wish.user_id) if wish.user_id else None,
        pool=naming.pool(wish.pool_id),
        reservation=reservation if reservation in known else None,
        kind=next((kind for kind in engine.KINDS if kind == wish.kind), "batch"),
        submitted_at=snapshot.now,
        tasks=wish.tasks,
        per_task=engine.PerTask(
            gpu_milli=wish.gpus * DEVICE, cpu_milli=wish.cpu_milli, memory_mib=wish.memory_mib
        ),
        duration_seconds=wish.duration_seconds,
        checkpoint=checkpoint,
    )
