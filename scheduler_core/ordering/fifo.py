"""First in, first out; `fifo_strict` is the same with a head that blocks."""

from scheduler_core.model import Workload
from scheduler_core.ordering.base import Key, Static
from scheduler_core.scratch import State


class Fifo(Static):
    """By `submitted_at`."""

    def __init__(self, state: State) -> None:
        del state

    def key(self, workload: Workload) -> Key:
        """Return when it was submitted."""
        return workload.submitted_at
