"""Fragmentation as the FGD paper defines it: free GPU that typical tasks could not use.

For a node with free milli r_g on each device, R their sum, and a kind of task m, F_n(m) is R when m
asks for no GPU, may not use the node's model, or lacks CPU or devices there; otherwise the sum of
the r_g too small for m. F_n(M) weighs the kinds by how common they are (Weng et al., USENIX
ATC'23, section 3.2). `scheduler_core.metrics` has the same figure for one node in plain form.

Everything is a whole number here: a figure is in milli-GPU × `weight`, the sum of the kinds' counts
as kept. Equal fragmentation is then equal, whatever the order in which it was summed.
"""

from collections.abc import Mapping

import numpy as np

from scheduler_core.placement.demands import BoolArray, Demand, FreeNode, IntArray, State
from scheduler_core.resources import DEVICE

COVER_PERCENT = 95
NEVER = 1 << 30
REMEMBERED_STATES = 20_000


class Typical:
    """The common kinds of task, with how often each occurs.

    Arrays over kinds: `cpu`, `milli` (what a device must have free to count), `counts`.
    """

    def __init__(self, counts: Mapping[Demand, int], cover_percent: int = COVER_PERCENT) -> None:
        """Keep the commonest kinds until they cover this share of all tasks.

        Of kinds equally common the larger demand, compared field by field, is kept first.
        """
        kept = _commonest(counts, cover_percent)
        self.kinds = tuple(kind for kind, _ in kept)
        self.weight = sum(count for _, count in kept)
        # Sums of products of these stay far below 2^53, so doubles hold them exactly and fast.
        self.counts = np.array([count for _, count in kept], np.float64)
        self.cpu: IntArray = np.array([kind.cpu_milli for kind in self.kinds], np.int64)
        self.milli: IntArray = np.array(
            [kind.gpu_milli if kind.devices else DEVICE for kind in self.kinds], np.int64
        )
        self._needs: dict[str, IntArray] = {}
        self._known: dict[State, int] = {}

    def needs(self, model: str) -> IntArray:
        """Return how many sufficient devices each kind needs on this model, `NEVER` if none do."""
        if model not in self._needs:
            self._needs[model] = np.array([_need(kind, model) for kind in self.kinds], np.int64)
        return self._needs[model]

    def weigh(self, unusable: IntArray) -> IntArray:
        """Return the weighted sum over the last axis, the kinds, of unusable milli-GPU."""
        weighed: IntArray = (unusable @ self.counts).astype(np.int64)
        return weighed

    def on(self, node: FreeNode) -> int:
        """Return F_n(M) of a node, in milli-GPU × `weight`."""
        if not self.kinds or not node.gpus:
            return 0
        state = node.state()
        known = self._known.get(state)
        if known is None:
            if len(self._known) >= REMEMBERED_STATES:
                self._known.clear()
            known = self._known[state] = self._sum(node)
        return known

    def _sum(self, node: FreeNode) -> int:
        free = np.array(node.gpus, np.int64)[:, None]
        small = free < self.milli
        sufficient = len(node.gpus) - small.sum(axis=0)
        lost: BoolArray = (sufficient < self.needs(node.model)) | (self.cpu > node.cpu_milli)
        unusable = np.where(lost, node.gpu_milli, (small * free).sum(axis=0))
        return int(self.weigh(unusable))

    def milli_of(self, weighed: int) -> float:
        """Return a figure in milli-GPU."""
        return weighed / self.weight if self.weight else 0.0


def _commonest(counts: Mapping[Demand, int], cover_percent: int) -> list[tuple[Demand, int]]:
    ranked = sorted(counts.items(), key=lambda item: (item[1], item[0]), reverse=True)
    total, covered = sum(counts.values()), 0
    kept: list[tuple[Demand, int]] = []
    for kind, count in ranked:
        if covered * 100 >= cover_percent * total:
            break
        kept.append((kind, count))
        covered += count
    return kept


def _need(kind: Demand, model: str) -> int:
    refused = bool(kind.gpu_models) and model not in kind.gpu_models
    return NEVER if refused or not kind.devices else kind.devices
