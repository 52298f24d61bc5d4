"""The engine's own `pack` and `spread`, as scores for the placement study."""

import numpy as np

from scheduler_core.placement.demands import DemandTable, FreeNode, IntArray
from scheduler_core.placement.scoring import ByColumn

# Free millicores of one node stay below this, so that GPUs come first and CPU second.
CPU_ROOM = 1 << 40


class Fullness(ByColumn):
    """Scores a node by how full it is, whatever is asked: GPUs first, then CPU.

    `sign` is 1 for the fullest first, -1 for the emptiest.
    """

    def __init__(self, table: DemandTable, sign: int) -> None:
        super().__init__(table)
        self._sign = sign

    def plain(self, node: FreeNode) -> IntArray:
        """Return the same score for every plain demand."""
        free = node.gpu_milli * CPU_ROOM + min(node.cpu_milli, CPU_ROOM - 1)
        return np.full(len(self.table.cpu), -self._sign * free)
