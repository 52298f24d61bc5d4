"""A placement of our own for the study: FGD, and two things that fragmentation does not see.

1. **Scarce models are kept.** Where many tasks name the models they may run on, those who name none
   should not take them. A model's pressure is the part of it that tasks bound to a few models will
   want once the cluster is asked for whole, the choosiest served first; a node loses points by it.
2. **CPU goes with CPU.** A task that asks for little CPU per GPU gains points on a node that has
   little of it, one that asks for much (or for CPU alone) on a node that has much, so that no GPU is
   left behind on a node whose CPU is gone. A scarce model is no place to save CPU.

The kinds of task and the empty nodes are all it knows, as with FGD. It holds where tasks only
arrive; a node's points do not change as it fills, so it is no use to the planner, whose clusters are
pools of one model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_core.placement.demands import Demand, FreeNode, IntArray
from scheduler_core.placement.fgd import Fgd
from scheduler_core.resources import DEVICE

POINTS = 10
"""What a model wholly wanted costs, and what CPU that matches is worth; FGD's scores go to 100."""
FINE = 16
"""Points are told in this many parts; FGD's are whole."""
LITTLE, MUCH = 0.75, 1.25
"""Of the usual CPU per GPU."""
CALM = 0.3
"""The pressure from which on a model is no place to save CPU."""


class Matched(Fgd):
    """Adds to FGD's score what the node is to the task before anything runs."""

    def bias(self, nodes: Sequence[FreeNode], kinds: Mapping[Demand, int]) -> IntArray:
        """Return points, in parts of `FINE`, by demand of the table and empty node.

        `kinds` is all that may come.
        """
        pressure = _pressure(nodes, kinds)
        cost = np.array([pressure.get(node.model, 0.0) for node in nodes])
        calm = np.maximum(0, 1 - cost / CALM)
        usual = _usual(kinds)
        richness = np.array([node.cpu_milli / max(1, node.gpu_milli) for node in nodes])
        poor, rich = (richness < LITTLE * usual) * calm, (richness > MUCH * usual) * calm
        points = np.zeros((len(self.table.demands), len(nodes)))
        for row, demand in enumerate(self.table.demands):
            if demand.devices:
                points[row] -= cost
            asked = demand.cpu_milli / demand.total_milli if demand.devices else np.inf
            if asked < LITTLE * usual:
                points[row] += poor
            elif asked > MUCH * usual:
                points[row] += rich
        biased: IntArray = np.rint(FINE * POINTS * points).astype(np.int64)
        return biased


def _usual(kinds: Mapping[Demand, int]) -> float:
    """CPU per GPU of all tasks with GPUs together."""
    cpu = sum(kind.cpu_milli * count for kind, count in kinds.items() if kind.devices)
    return cpu / max(1, sum(kind.total_milli * count for kind, count in kinds.items()))


def _pressure(nodes: Sequence[FreeNode], kinds: Mapping[Demand, int]) -> Mapping[str, float]:
    """Return by model the demand bound to it, of what it has, were the cluster asked for whole.

    Who may use the least is served first; each spreads over its models by what they have left.
    """
    size: Counter[str] = Counter()
    for node in nodes:
        size[node.model] += node.gpu_milli
    bound: Counter[frozenset[str]] = Counter()
    for kind, count in kinds.items():
        if named := frozenset(kind.gpu_models).intersection(size):
            bound[named] += kind.total_milli * count
    part = size.total() / max(1, sum(kind.total_milli * count for kind, count in kinds.items()))
    wanted = dict.fromkeys(size, 0.0)
    for named in sorted(bound, key=lambda one: (sum(size[m] for m in one), sorted(one))):
        left = {model: max(1.0, size[model] - wanted[model]) for model in sorted(named)}
        for model, room in left.items():
            wanted[model] += bound[named] * part * room / sum(left.values())
    return {model: wanted[model] / max(DEVICE, size[model]) for model in size}
