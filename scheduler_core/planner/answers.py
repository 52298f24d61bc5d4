"""The walk's decisions in the contract's words."""

from scheduler_core.explain import Explainer, Note
from scheduler_core.model import ChargedTo, RunningCharge, Start, Waiting
from scheduler_core.ordering import Order, Queue
from scheduler_core.planner.walk import Walk
from scheduler_core.scratch import State


def starts(state: State, walk: Walk, charged: dict[str, ChargedTo]) -> tuple[Start, ...]:
    """Return what starts, in the order it was decided."""
    return tuple(
        Start(
            name,
            state.placements(started.held),
            charged[name],
            started.backfilled,
            started.after,
        )
        for name, started in walk.started.items()
    )


def running(state: State, charged: dict[str, ChargedTo]) -> tuple[RunningCharge, ...]:
    """Return what runs on, with this cycle's charge."""
    return tuple(
        RunningCharge(name, charged[name]) for name, held in state.running.items() if not held.fresh
    )


def waiting(state: State, walk: Walk, order: Order) -> tuple[Waiting, ...]:
    """Return what still waits, in order, with reasons and planned starts."""
    explainer = Explainer(state)
    queue = Queue(order, state.waiting.values(), state.tree)
    answer: list[Waiting] = []
    while (workload := queue.pop()) is not None:
        note = walk.notes.get(workload.id, Note())
        reason, detail = explainer.explain(workload, note)
        planned = walk.plans.get(workload.id)
        start = None if planned is None else planned.start
        answer.append(Waiting(workload.id, len(answer) + 1, reason, detail, start))
    return tuple(answer)
