"""GPU clustering: tasks of one kind together, on the fuller node.

Kinds are shares, one-device tasks, two-device tasks and so on. floor(25 · GPU in use / GPU of the
largest node), plus 75 where only this kind runs, 50 where it runs among others, 25 where no task
with GPUs runs. As restated for the FGD study (Weng et al., USENIX ATC'23, after Xiao et al.,
Gandiva, OSDI'18). A task that asks for no GPU scores 0 everywhere.
"""

import numpy as np

from scheduler_core.placement.demands import DemandTable, FreeNode, IntArray
from scheduler_core.placement.scale import STUDY, Scale
from scheduler_core.placement.scoring import ByColumn

ALONE = 75
AMONG_OTHERS = 50
EMPTY = 25


class GpuClustering(ByColumn):
    """Scores by what already runs on the node."""

    def __init__(self, table: DemandTable, scale: Scale = STUDY) -> None:
        super().__init__(table)
        self.largest = scale.cpu_milli // scale.cpu_per_gpu
        self._labels = int(table.label.max(initial=0)) + 1

    def plain(self, node: FreeNode) -> IntArray:
        """Return a score for every plain demand of the table, as if each fitted."""
        bonus = np.full(self._labels, 0 if node.labels else EMPTY)
        for label in node.labels:
            if label < self._labels:
                bonus[label] = ALONE if len(node.labels) == 1 else AMONG_OTHERS
        base = 25 * (self.largest - node.gpu_milli) // self.largest
        return np.where(self.table.devices > 0, base + bonus[self.table.label], 0)
