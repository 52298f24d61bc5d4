"""Pack: the fullest node that fits, so that whole nodes stay free for large work."""

import numpy as np

from scheduler_core.placement.base import Room
from scheduler_core.scratch import Spot
from scheduler_core.scratch.nodes import Ints


class Pack:
    """Fullest first: least free GPU, then least free CPU, then the order of the list.

    A gang first fills the nodes that take most of it; the last node is the tightest that takes
    the rest.
    """

    counts_all = False

    def spots(self, room: Room, count: int) -> list[Spot]:
        """Return nodes for `count` tasks."""
        spots: list[Spot] = []
        where = np.flatnonzero(room.tasks)
        tasks = room.tasks[where]
        if int(tasks.max()) < count:
            order = np.lexsort((where, room.cpu_free[where], room.gpu_free[where], -tasks))
            where, tasks = where[order], tasks[order]
            filled = 0
            while int(tasks[filled]) < count:
                count -= int(tasks[filled])
                spots.append((room.low + int(where[filled]), int(tasks[filled])))
                filled += 1
            where, tasks = where[filled:], tasks[filled:]
        spots.append((room.low + _tightest(room, where[tasks >= count]), count))
        return spots


def _tightest(room: Room, where: Ints) -> int:
    free = room.gpu_free[where]
    where = where[free == free.min()]
    if len(where) > 1:
        cpu = room.cpu_free[where]
        where = where[cpu == cpu.min()]
    return int(where.min())
