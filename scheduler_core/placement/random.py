"""Random: any node that fits, and any device that fits, each with equal chance."""

from random import Random

import numpy as np

from scheduler_core.placement.demands import INFEASIBLE, DemandTable, FreeNode, IntArray
from scheduler_core.placement.scoring import ByColumn, whole_devices


class RandomNode(ByColumn):
    """Scores all nodes alike and draws one; the same seed draws the same."""

    def __init__(self, table: DemandTable, seed: str) -> None:
        super().__init__(table)
        self._draw = Random(seed)  # noqa: S311 - a simulation, no secret

    def plain(self, node: FreeNode) -> IntArray:
        """Return the same score for every plain demand."""
        return np.zeros(len(self.table.cpu), np.int64)

    def choose(self, row: IntArray) -> int | None:
        """Return any node that can, or None when none can."""
        able = np.flatnonzero(row != INFEASIBLE)
        return int(able[self._draw.randrange(len(able))]) if len(able) else None

    def devices(self, node: FreeNode, index: int) -> list[int]:
        """Return any device that fits, or the whole free ones of lowest index."""
        demand = self.table.demands[index]
        if not demand.is_share:
            return whole_devices(node.gpus, demand.devices)
        fitting = [index for index, free in enumerate(node.gpus) if free >= demand.gpu_milli]
        return [self._draw.choice(fitting)]
