"""The engine's plan → what it says of each workload, each pod and each team's use. Pure."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from portal.scheduling import naming
from portal.scheduling.freezing import Frozen
from portal.scheduling.models import Verb
from scheduler_core import document
from scheduler_core import model as engine
from scheduler_core.resources import DEVICE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan says of one workload."""

    workload_id: int
    verb: Verb
    reason: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    position: int | None = None
    charged_to: str = ""
    planned_start: datetime | None = None


def outcomes(frozen: Frozen, plan: engine.Plan) -> dict[int, Outcome]:
    """What the plan says, in order of workload id; a victim's stop outweighs all else of it."""
    said = document.plan_to_json(plan)
    rows = {name: pk for name, pk in frozen.work.rows.items() if name == naming.workload(pk)}
    found: dict[int, Outcome] = {}
    for key, build in _BUILDERS:
        for entry in said[key]:
            pk = rows.get(entry["workload"])
            if pk is not None:
                found[pk] = build(pk, entry)
    return dict(sorted(found.items()))


def _running(pk: int, said: dict[str, Any]) -> Outcome:
    return Outcome(pk, Verb.RUN, charged_to=said["charged_to"])


def _waiting(pk: int, said: dict[str, Any]) -> Outcome:
    planned = said["planned_start"]
    return Outcome(
        pk,
        Verb.WAIT,
        reason=said["reason"],
        detail=said["detail"],
        position=said["position"],
        planned_start=None if planned is None else datetime.fromtimestamp(planned, tz=UTC),
    )


def _start(pk: int, said: dict[str, Any]) -> Outcome:
    detail = {key: said[key] for key in ("placements", "after", "backfilled")}
    return Outcome(pk, Verb.START, detail=detail, charged_to=said["charged_to"])


def _preempted(pk: int, said: dict[str, Any]) -> Outcome:
    detail = {key: said[key] for key in ("for", "tasks", "lost_gpu_seconds")}
    return Outcome(pk, Verb.PREEMPT, reason=said["why"], detail=detail)


_BUILDERS = (
    ("running", _running),
    ("waiting", _waiting),
    ("starts", _start),
    ("preemptions", _preempted),
)


def pod_charges(frozen: Frozen, plan: engine.Plan) -> dict[int, str]:
    """What pods must newly be charged to, by pod id: only those that change."""
    return {
        pod_id: run.charged_to
        for run in plan.running
        if run.workload in frozen.work.rows
        for pod_id in frozen.work.pods.get(run.workload, ())
        if frozen.charges.get(pod_id, run.charged_to) != run.charged_to
    }


def uses(frozen: Frozen, plan: engine.Plan, *, paid: frozenset[int]) -> dict[int, float]:
    """GPU-equivalent seconds each team used since the last tick, by team id.

    A start pays one interval at once, as the engine counts it, so that one cycle does not serve
    one team alone. `paid` are the workloads the tick before let start: those have paid for the
    interval that ends now, whether they run by now or are still to start.
    """
    seconds = frozen.snapshot.policy.tick_seconds
    starting = {start.workload: start.placements for start in plan.starts}
    pools = {node.name: node.pool for node in frozen.snapshot.nodes}
    found: dict[int, float] = defaultdict(float)
    for work in frozen.snapshot.workloads:
        placements = starting.get(work.id) or (work.running.placements if work.running else ())
        team_id = naming.row_id(work.team, "t")
        owner = frozen.work.rows.get(work.id)
        if not placements or not team_id or owner is None or owner in paid:
            continue
        pool_id = naming.row_id(pools[placements[0].node], "p") or 0
        worth = frozen.gpu_equivalents.get(pool_id, DEVICE) / DEVICE
        milli = sum(amount for placement in placements for _, amount in placement.gpus)
        found[team_id] += milli / DEVICE * worth * seconds
    return dict(found)
