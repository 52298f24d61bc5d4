"""Dot product: the node whose free amounts and the task's demand point least the same way.

floor(100 · (1 − ½·(CPU free · CPU asked / C² + GPU free · GPU asked / G²))), C and G of the largest
node, as restated for the FGD study (Weng et al., USENIX ATC'23).
"""

from scheduler_core.placement.demands import DemandTable, FreeNode, IntArray
from scheduler_core.placement.scale import STUDY, Scale
from scheduler_core.placement.scoring import ByColumn


class DotProduct(ByColumn):
    """Scores by the product of what is free and what is asked."""

    def __init__(self, table: DemandTable, scale: Scale = STUDY) -> None:
        super().__init__(table)
        self.scale = scale

    def plain(self, node: FreeNode) -> IntArray:
        """Return a score for every plain demand of the table, as if each fitted."""
        ratio, shift = self.scale.cpu_per_gpu, self.scale.shift
        cpu = (node.cpu_milli >> shift) * (self.table.cpu >> shift)
        gpu = (node.gpu_milli * ratio >> shift) * (self.table.total * ratio >> shift)
        square = (self.scale.cpu_milli >> shift) ** 2
        scores: IntArray = (100 * square - 50 * (cpu + gpu)) // square
        return scores
