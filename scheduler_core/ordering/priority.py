"""Priority with aging: waiting raises it, so that nobody starves."""

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key, Static
from scheduler_core.scratch import State


class Priority(Static):
    """Highest `priority + floor(wait / aging_seconds_per_point)` first."""

    def __init__(self, state: State) -> None:
        self._now = state.now
        self._aging = state.policy.aging_seconds_per_point

    def key(self, workload: Workload) -> Key:
        """Return the aged priority, negated."""
        wait = max(0, self._now - workload.submitted_at)
        return -(workload.priority + (wait // self._aging if self._aging else 0))
