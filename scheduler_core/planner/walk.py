"""The walk: each waiting workload in its turn, until nothing more starts."""

from dataclasses import dataclass

from scheduler_core.explain import Explainer, Note
from scheduler_core.model import ChargedTo, Preempted, RunningCharge, Start, Waiting, Workload
from scheduler_core.ordering import Order, Queue
from scheduler_core.placement import Placement, fit
from scheduler_core.scratch import Held, Rules, State


@dataclass(frozen=True, slots=True)
class Started:
    """A start of this cycle: who must be gone first, and whether it passed work that waits."""

    held: Held
    after: tuple[str, ...]
    backfilled: bool


class Walk:
    """Serves the order; afterwards it knows what starts, what goes and why the rest waits."""

    def __init__(self, state: State, order: Order, placement: Placement) -> None:
        self._state = state
        self._order = order
        self._placement = placement
        self._explainer = Explainer(state)
        self._started: dict[str, Started] = {}
        self._notes: dict[str, Note] = {}
        self._blocked: dict[int, Workload] = {}
        self._passed: set[int] = set()
        self._head_blocks = state.policy.head_blocks or state.policy.order == "fifo_strict"

    def run(self) -> None:
        """Walk until nothing more starts. What was promised its victims' room goes first."""
        for name in list(self._state.stopping):
            workload = self._state.waiting.get(name)
            if workload is not None:
                self._start(workload)
        while self._pass():
            pass

    def _pass(self) -> bool:
        state = self._state
        queue = Queue(self._order, state.waiting.values(), state.tree)
        self._notes.clear()
        self._blocked.clear()
        self._passed.clear()
        started = False
        while (workload := queue.pop()) is not None:
            if self._start(workload):
                queue.changed(state.tree.index[workload.team])
                started = True
            else:
                self._leave(workload)
        return started and self._something_freed()

    def _something_freed(self) -> bool:
        return False

    def _start(self, workload: Workload) -> bool:
        """Start the workload in the first of its pools that takes it now."""
        state = self._state
        promised = state.stopping.get(workload.id, [])
        with state.attempt() as attempt:
            for held in promised:
                state.release(held)
            for pool in state.pools_for(workload):
                if pool not in self._blocked and self._start_in(workload, pool, promised):
                    attempt.keep()
                    return True
        return False

    def _start_in(self, workload: Workload, pool: int, promised: list[Held]) -> bool:
        state = self._state
        shape = state.shape(workload)
        most = Rules(state, workload, pool).largest_count()
        tasks = state.column(pool, shape.need).tasks()
        spots = fit(state, self._placement, pool, shape, most, tasks)
        if spots is None:
            return False
        held = state.start(workload, pool, spots)
        after = tuple(one.workload.id for one in promised)
        self._started[workload.id] = Started(held, after, pool in self._passed)
        return True

    def _leave(self, workload: Workload) -> None:
        """Leave the workload waiting; where heads block, it blocks the pools it could run in."""
        note = self._notes.setdefault(workload.id, Note())
        for pool in self._state.pools_for(workload):
            if not self._explainer.can_ever_run(workload, pool):
                continue
            self._passed.add(pool)
            head = self._blocked.get(pool)
            if head is not None:
                note.add("behind", **self._named(head, workload))
            elif self._head_blocks:
                self._blocked[pool] = workload

    def _named(self, ahead: Workload, reader: Workload) -> dict[str, object]:
        """Return who stands ahead: the team, and the workload only to its own branch."""
        tree = self._state.tree
        mine, theirs = (tree.paths[tree.index[one.team]][-1] for one in (reader, ahead))
        named: dict[str, object] = {"team": ahead.team}
        return {**named, "workload": ahead.id} if mine == theirs else named

    def starts(self, charged: dict[str, ChargedTo]) -> tuple[Start, ...]:
        """Return what starts, in the order it was decided."""
        return tuple(
            Start(
                name,
                self._state.placements(started.held),
                charged[name],
                started.backfilled,
                started.after,
            )
            for name, started in self._started.items()
        )

    def running(self, charged: dict[str, ChargedTo]) -> tuple[RunningCharge, ...]:
        """Return what runs on, with this cycle's charge."""
        return tuple(
            RunningCharge(name, charged[name])
            for name, held in self._state.running.items()
            if not held.fresh
        )

    def preemptions(self) -> tuple[Preempted, ...]:
        """Return what has to go."""
        return ()

    def waiting(self) -> tuple[Waiting, ...]:
        """Return what still waits, in order, with reasons."""
        queue = Queue(self._order, self._state.waiting.values(), self._state.tree)
        answer: list[Waiting] = []
        while (workload := queue.pop()) is not None:
            note = self._notes.get(workload.id, Note())
            reason, detail = self._explainer.explain(workload, note)
            answer.append(Waiting(workload.id, len(answer) + 1, reason, detail, None))
        return tuple(answer)
