"""What a tick would decide now, as lines to read; nothing is written."""

from collections.abc import Iterator
from datetime import datetime

from portal.scheduling import freezing
from portal.workloads.models import Workload
from scheduler_core import model as engine
from scheduler_core import planner


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
