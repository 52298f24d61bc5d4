"""The team that got least of what it asks first."""

from collections.abc import Hashable
from typing import Literal

from scheduler_core import metrics
from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key
from scheduler_core.resources import NOTHING, Amount
from scheduler_core.scratch import State


class Satisfaction:
    """By the smallest allocated ÷ demand over the resources; demand is running and waiting."""

    moves: Literal["never", "team", "all"] = "team"

    def __init__(self, state: State) -> None:
        self._state = state
        self._demand = [self._used_by(team) for team in range(len(state.tree))]
        for workload in state.waiting.values():
            team = state.tree.index[workload.team]
            self._demand[team] = self._demand[team].plus(workload.ask)
        self._keys = [self._satisfied(team) for team in range(len(state.tree))]

    def _used_by(self, team: int) -> Amount:
        total = NOTHING
        for book in self._state.books:
            total = total.plus(book.own[team])
        return total

    def _satisfied(self, team: int) -> Key:
        return metrics.satisfaction(self._used_by(team), self._demand[team])

    def group(self, workload: Workload) -> Hashable:
        """Return the team."""
        return workload.team

    def key(self, workload: Workload) -> Key:
        """Return the team's satisfaction."""
        return self._keys[self._state.tree.index[workload.team]]

    def refresh(self, team: int) -> None:
        """Read the team's use again."""
        self._keys[team] = self._satisfied(team)
