"""Who may be stopped, and in which order within a team."""

from collections.abc import Container
from dataclasses import dataclass

from scheduler_core.model import Workload
from scheduler_core.ordering import Order, rank
from scheduler_core.reclaim.losses import lost_milli_seconds
from scheduler_core.scratch import Held, State, borrowed_of


@dataclass(frozen=True, slots=True)
class Victim:
    """Running work, and how many of its tasks go: down to `min_tasks` first, then the rest."""

    held: Held
    tasks: int
    lost: int

    @property
    def name(self) -> str:
        """Return the workload's id."""
        return self.held.workload.id


class Candidates:
    """Running work of one pool that a workload might take the place of, by team.

    `hurried` lifts the minimum runtime, for a reservation that opens.
    """

    def __init__(
        self,
        state: State,
        order: Order,
        workload: Workload,
        pool: int,
        *,
        spared: Container[str],
        hurried: bool,
    ) -> None:
        self._state = state
        self._order = order
        self._workload = workload
        self._pool = pool
        self._mine = state.tree.index[workload.team]
        self._hurried = hurried
        self._rank = rank(order, workload)
        self.protected: list[str] = []
        self._by_team: dict[int, dict[str, Held]] = {}
        useful = self._useful_nodes()
        for name, held in state.running.items():
            if held.pool == pool and name not in spared and self._may_go(held, useful):
                self._by_team.setdefault(held.team, {})[name] = held

    def _useful_nodes(self) -> set[int]:
        where = self._state.nodes.slices[self._pool]
        need = self._state.shape(self._workload).need
        column = self._state.column(self._pool, need)
        return {where.start + number for number in column.allowed.nonzero()[0].tolist()}

    def _may_go(self, held: Held, useful: set[int]) -> bool:
        victim = held.workload
        if not victim.preemptible or not any(node in useful for node, _, _ in held.spots):
            return False
        if held.team == self._mine and not (
            victim.priority < self._workload.priority and self._rank < rank(self._order, victim)
        ):
            return False
        if held.fresh or self._hurried:
            return True
        least = self._state.policy.preemption.min_runtime_seconds
        if self._state.now - held.started_at < least:
            if held.team == self._mine or self._state.books[self._pool].is_above(held.team):
                self.protected.append(victim.id)
            return False
        return True

    def teams(self) -> list[int]:
        """Return the teams with candidates left."""
        return sorted(team for team, work in self._by_team.items() if work)

    def of_team(self, team: int) -> list[Victim]:
        """Return the team's candidates, the first to go first."""
        borrowed = borrowed_of(self._state, self._pool, team)
        victims = [self._victim(held) for held in self._by_team.get(team, {}).values()]
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

    def _victim(self, held: Held) -> Victim:
        least = held.workload.min_tasks or held.tasks
        tasks = held.tasks - least if held.tasks > least else held.tasks
        lost = 0
        if not held.fresh:
            lost = lost_milli_seconds(held.workload, held.started_at, self._state.now, tasks)
        return Victim(held, tasks, lost)

    def gone(self, victim: Victim, left: Held | None) -> None:
        """Take notice that the victim was stopped; what is left of it may still go."""
        work = self._by_team[victim.held.team]
        if left is None:
            del work[victim.name]
        else:
            work[victim.name] = left
