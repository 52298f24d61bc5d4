"""Shortest job first."""

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key, Static
from scheduler_core.scratch import State


class Shortest(Static):
    """By estimated duration, then `submitted_at`; unknown durations last."""

    def __init__(self, state: State) -> None:
        del state

    def key(self, workload: Workload) -> Key:
        """Return whether the duration is unknown, the duration, and when it was submitted."""
        duration = workload.duration_seconds
        return (duration is None, duration or 0, workload.submitted_at)
