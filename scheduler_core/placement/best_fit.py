"""Best fit: the node with least left over, CPU and GPU weighed alike.

floor(100 · (1 − ½·CPU left / largest node's CPU − ½·GPU left / largest node's GPU)), as restated
for the FGD study (Weng et al., USENIX ATC'23). The study's program then stretches the scores to
0..100; that changes neither their order nor which are equal, and is left out.
"""

from scheduler_core.placement.demands import DemandTable, FreeNode, IntArray
from scheduler_core.placement.scale import STUDY, Scale
from scheduler_core.placement.scoring import ByColumn


class BestFit(ByColumn):
    """Scores by what would be left on the node."""

    def __init__(self, table: DemandTable, scale: Scale = STUDY) -> None:
        super().__init__(table)
        self.scale = scale

    def plain(self, node: FreeNode) -> IntArray:
        """Return a score for every plain demand of the table, as if each fitted."""
        cpu_left = node.cpu_milli - self.table.cpu
        gpu_left = node.gpu_milli - self.table.total
        left = cpu_left + self.scale.cpu_per_gpu * gpu_left
        scores: IntArray = (100 * self.scale.cpu_milli - 50 * left) // self.scale.cpu_milli
        return scores
