"""How much of the free GPU the trace's usual work could not have used, over time.

Worked out from the log after the run, at the moments a report looks at: the placements that held
then are put on empty nodes, and each node's fragmentation is that of the FGD paper, its typical
kinds being those of all jobs of the trace.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduler_core.placement.demands import FreeNode
from scheduler_core.placement.fragmentation import Typical
from scheduler_core.resources import DEVICE
from scheduler_core.simulator.log import ANY, Log, Part

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def fragmented(log: Log, moments: Ints) -> Floats:
    """Return the fragmented GPU at each moment, in milli-GPU; moments are in order."""
    floor = _Floor(log.ground.nodes, Typical(log.ground.kinds))
    found = np.zeros(len(moments))
    due = _changes(log, moments)
    for place in range(len(moments)):
        for sign, parts in due.get(place, ()):
            for part in parts:
                floor.change(part, sign)
        found[place] = floor.total()
    return found


def _changes(log: Log, moments: Ints) -> dict[int, list[tuple[int, tuple[Part, ...]]]]:
    """Return by place among the moments what had ended (1) and begun (-1) since the one before.

    What held at no moment at all is left out.
    """
    spells = np.array([spell[1:3] for spell in log.spells], np.int64).reshape(-1, 2)
    begins = np.searchsorted(moments, spells[:, 0], side="left")
    ends = np.searchsorted(moments, spells[:, 1], side="left")
    due: dict[int, list[tuple[int, tuple[Part, ...]]]] = {}
    # Ends before begins: what ended at a moment has made room for what begins then.
    for sign, places in ((1, ends), (-1, begins)):
        for spell in np.flatnonzero(begins < ends).tolist():
            due.setdefault(int(places[spell]), []).append((sign, log.held[spell]))
    return due


class _Floor:
    """The nodes as they fill, and the fragmentation of those that changed worked out anew."""

    def __init__(self, nodes: Sequence[FreeNode], typical: Typical) -> None:
        self._nodes = [FreeNode(node.cpu_milli, list(node.gpus), node.model) for node in nodes]
        self._typical = typical
        self._of = [typical.on(node) for node in self._nodes]
        self._sum = sum(self._of)
        self._touched: set[int] = set()

    def change(self, part: Part, sign: int) -> None:
        """Take a part (sign -1) or give it back (sign 1)."""
        node = self._nodes[part.node]
        node.cpu_milli += sign * part.cpu_milli
        for device, milli in part.devices:
            if device == ANY:
                _change_any(node.gpus, milli // DEVICE, sign)
            else:
                node.gpus[device] += sign * milli
        self._touched.add(part.node)

    def total(self) -> float:
        """Return the fragmentation of all nodes in milli-GPU."""
        for number in self._touched:
            now = self._typical.on(self._nodes[number])
            self._sum += now - self._of[number]
            self._of[number] = now
        self._touched.clear()
        return self._typical.milli_of(self._sum)


def _change_any(gpus: list[int], devices: int, sign: int) -> None:
    """Take so many whole devices, the last free ones, or give them back."""
    whole = gpus.count(DEVICE) + sign * devices
    gpus[:] = [DEVICE] * whole + [0] * (len(gpus) - whole)
