"""Who may be stopped, and in which order within a team."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from scheduler_core.model import Workload
from scheduler_core.ordering import Order, rank
from scheduler_core.reclaim.losses import lost_milli_seconds
from scheduler_core.resources import Amount
from scheduler_core.scratch import Held, State, borrowed_of


@dataclass(frozen=True, slots=True)
class Victim:
    """Running work, and how many of its tasks go: down to `min_tasks` first, then the rest.

    `less` is what its team's use changes by, so below zero.
    """

    held: Held
    tasks: int
    lost: int
    less: Amount

    @property
    def name(self) -> str:
        """Return the workload's id."""
        return self.held.workload.id


def in_order(state: State, pool: int, team: int, victims: Iterable[Victim]) -> list[Victim]:
    """Return a team's work in the order in which it would go.

    Lower priority, then borrowed before the rest, then least lost work, then latest started, id.
    """
    borrowed = borrowed_of(state, pool, team)
    return sorted(
        victims,
        key=lambda one: (
            one.held.workload.priority,
            one.name not in borrowed,
            one.lost,
            -one.held.started_at,
            one.name,
        ),
    )


def victim_of(held: Held, now: int) -> Victim:
    """Return the running work as a victim; a start of this cycle goes whole, since it is undone."""
    least = held.workload.min_tasks or held.tasks
    shrinks = held.tasks > least and not held.fresh
    tasks = held.tasks - least if shrinks else held.tasks
    lost = 0 if held.fresh else lost_milli_seconds(held.workload, held.started_at, now, tasks)
    return Victim(held, tasks, lost, held.workload.per_task.amount.times(-tasks))


def is_protected(state: State, held: Held) -> bool:
    """Tell whether the work started too recently to be stopped; starts of this cycle may go."""
    least = state.policy.preemption.min_runtime_seconds
    return not held.fresh and state.now - held.started_at < least


class Claim:
    """What one workload may ask of running work: whose turn its order puts behind it, and where.

    `takes_all` tells that it may ask for all that a board lists of other teams.
    """

    def __init__(
        self,
        state: State,
        order: Order,
        workload: Workload,
        pool: int,
        spared: Container[str],
        *,
        hurried: bool,
    ) -> None:
        self._state = state
        self._order = order
        self._workload = workload
        self._spared = spared
        self._team = state.tree.index[workload.team]
        self._low = state.nodes.slices[pool].start
        self._allowed = state.column(pool, state.shape(workload).need).allowed
        self._anywhere = bool(self._allowed.all())
        self.hurried = hurried
        self.takes_all = self._anywhere and not hurried

    def covers(self, held: Held) -> bool:
        """Tell whether the workload may ask for this work, shares aside."""
        if held.workload.id in self._spared or not held.workload.preemptible:
            return False
        if not self._anywhere and not any(
            self._allowed[node - self._low] for node, _, _ in held.spots
        ):
            return False
        if not self.hurried and is_protected(self._state, held):
            return False
        return held.team != self._team or self.precedes(held.workload)

    def precedes(self, victim: Workload) -> bool:
        """Tell whether it may take the place of work of its own team: lower, and behind it."""
        mine = self._workload
        return victim.priority < mine.priority and (
            rank(self._order, mine) < rank(self._order, victim)
        )
