"""What a scoring policy is, and the choices most of them share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from scheduler_core.placement.demands import INFEASIBLE, Demand, DemandTable, FreeNode, IntArray
from scheduler_core.resources import DEVICE


class Scores(Protocol):
    """Scores nodes for the demands of a table, chooses among them, and chooses devices.

    A higher score is better; `INFEASIBLE` means the node cannot take the demand.
    """

    def column(self, node: FreeNode) -> IntArray:
        """Return the score of every demand of the table on this node."""
        ...

    def choose(self, row: IntArray) -> int | None:
        """Return which node of a row of scores takes the task, or None when none can."""
        ...

    def devices(self, node: FreeNode, index: int) -> list[int]:
        """Return the devices a task of this demand (its index in the table) gets on the node.

        The node must be able to take it.
        """
        ...


class ByColumn(ABC):
    """A policy that scores plain demands; ties go to the node that stands first.

    A share goes to the fitting device with least free, whole devices are taken lowest index first.
    """

    def __init__(self, table: DemandTable) -> None:
        self.table = table

    @abstractmethod
    def plain(self, node: FreeNode) -> IntArray:
        """Return a score for every plain demand of the table, as if each fitted."""

    def column(self, node: FreeNode) -> IntArray:
        """Return the score of every demand of the table on this node."""
        scores = np.where(self.table.fits(node), self.plain(node), INFEASIBLE)
        return self.table.spread(scores, node.model)

    def choose(self, row: IntArray) -> int | None:
        """Return the first node of the best score, or None when no node can."""
        return first_best(row)

    def devices(self, node: FreeNode, index: int) -> list[int]:
        """Return the devices a task of this demand gets."""
        return fullest_devices(node.gpus, self.table.demands[index])


def first_best(row: IntArray) -> int | None:
    """Return the index of the first highest score, or None when all are infeasible."""
    if not row.size:
        return None
    best = int(row.argmax())
    return None if row[best] == INFEASIBLE else best


def fullest_devices(gpus: Sequence[int], demand: Demand) -> list[int]:
    """Return the fitting device with least free (lowest index of equals), or whole free ones."""
    if demand.is_share:
        fitting = [(free, index) for index, free in enumerate(gpus) if free >= demand.gpu_milli]
        return [min(fitting)[1]]
    return whole_devices(gpus, demand.devices)


def whole_devices(gpus: Sequence[int], count: int) -> list[int]:
    """Return the `count` wholly free devices of lowest index."""
    return [index for index, free in enumerate(gpus) if free == DEVICE][:count]
