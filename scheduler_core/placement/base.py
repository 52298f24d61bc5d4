"""What a placement sees and must answer."""

from dataclasses import dataclass
from typing import Protocol

from scheduler_core.scratch import Shape, Spot, State
from scheduler_core.scratch.nodes import Ints


@dataclass(frozen=True, slots=True)
class Room:
    """Where the tasks of one shape fit in one pool.

    `tasks` says how many fit on each node of the pool, by the node's number less `low`.
    """

    state: State
    pool: int
    shape: Shape
    tasks: Ints

    @property
    def low(self) -> int:
        """Return the number of the pool's first node."""
        start: int = self.state.nodes.slices[self.pool].start
        return start

    @property
    def gpu_free(self) -> Ints:
        """Return the free milli-GPU of each node of the pool."""
        return self.state.nodes.gpu_free[self.state.nodes.slices[self.pool]]

    @property
    def cpu_free(self) -> Ints:
        """Return the free millicores of each node of the pool."""
        return self.state.nodes.cpu_free[self.state.nodes.slices[self.pool]]


class Placement(Protocol):
    """Chooses nodes.

    `counts_all` tells whether it matters how many tasks a node takes beyond those asked for.
    """

    counts_all: bool

    def spots(self, room: Room, count: int) -> list[Spot]:
        """Return nodes for exactly `count` tasks; the room is known to hold them."""
        ...
