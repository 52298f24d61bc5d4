"""GPU packing: devices in use first, then free devices of nodes in use, then idle nodes.

As restated for the FGD study (Weng et al., USENIX ATC'23, after Weng et al., NSDI'22). A task that
asks for no GPU scores 0 everywhere.
"""

import numpy as np

from scheduler_core.placement.demands import FreeNode, IntArray
from scheduler_core.placement.scoring import ByColumn
from scheduler_core.resources import DEVICE

IDLE_NODE_TOP = 33
FREE_DEVICE_TOP = 50
USED_DEVICE_TOP = 100


class GpuPacking(ByColumn):
    """Scores by how used the devices are that the task would take."""

    def plain(self, node: FreeNode) -> IntArray:
        """Return a score for every plain demand of the table, as if each fitted."""
        table, count = self.table, len(node.gpus)
        if node.whole == count:
            idle = max(IDLE_NODE_TOP - count, count)
            return np.where(table.devices > 0, idle, 0)
        scores = np.maximum(FREE_DEVICE_TOP - table.devices, IDLE_NODE_TOP)
        scores[table.shares] = self._shares(node)
        return np.where(table.devices > 0, scores, 0)

    def _shares(self, node: FreeNode) -> IntArray:
        """Return the scores of shares, each on the fitting device with least free."""
        by_free = np.array([*sorted(node.gpus), DEVICE], np.int64)
        free = by_free[np.searchsorted(by_free, self.table.milli[self.table.shares])]
        used = np.maximum(USED_DEVICE_TOP - free * 100 // DEVICE // 10, FREE_DEVICE_TOP)
        return np.where(free == DEVICE, FREE_DEVICE_TOP - 1, used)
