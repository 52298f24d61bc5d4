"""Least slack to the promised wait first."""

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key, Static
from scheduler_core.scratch import State


class Sla(Static):
    """By what is left of `target_wait_seconds`; the most overdue first, work with no target last."""

    def __init__(self, state: State) -> None:
        self._now = state.now

    def key(self, workload: Workload) -> Key:
        """Return whether there is no target, and the slack in seconds."""
        target = workload.target_wait_seconds
        if target is None:
            return (True, 0)
        return (False, workload.submitted_at + target - self._now)
