"""Spread: as evenly as it goes, so that the loss of one node takes little of a service."""

import numpy as np

from scheduler_core.placement.base import Room
from scheduler_core.scratch import Spot


class Spread:
    """One task a node in turn, emptiest first: most free GPU, then CPU, then list order."""

    counts_all = False

    def spots(self, room: Room, count: int) -> list[Spot]:
        """Return nodes for `count` tasks."""
        where = np.flatnonzero(room.tasks)
        order = np.lexsort((where, -room.cpu_free[where], -room.gpu_free[where]))
        where = where[order]
        tasks = room.tasks[where]
        given = np.minimum(tasks, _full_rounds(tasks.tolist(), count))
        rest = count - int(given.sum())
        given[np.flatnonzero(tasks > given)[:rest]] += 1
        return [
            (room.low + node, number)
            for node, number in zip(where.tolist(), given.tolist(), strict=True)
            if number
        ]


def _full_rounds(tasks: list[int], count: int) -> int:
    """Return the most tasks every node can be given (or all it takes) without passing `count`."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(task, middle) for task in tasks) <= count:
            low = middle
        else:
            high = middle - 1
    return low
