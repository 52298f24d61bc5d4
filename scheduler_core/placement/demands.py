"""What tasks ask of one node, and a table of many such demands to be scored together.

Few distinct demands recur among thousands of tasks and one decision changes one node, so scores are
kept per (demand, node) and worked out a column at a time: one node, all demands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scheduler_core.resources import DEVICE

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

INFEASIBLE = int(np.iinfo(np.int64).min)
"""The score of a node that cannot take the demand."""

SHARE = 0
"""The label of a demand that takes part of one device; others are labelled by their devices."""


State = tuple[int, tuple[int, ...], str]
"""CPU, devices from the fullest and model of a node; which device is which is left out."""


class Demand(NamedTuple):
    """One task's demand: `devices` GPUs with `gpu_milli` of each, on one of `gpu_models` if any.

    Memory is left out: it decides whether a node will do, never how good it is.
    """

    cpu_milli: int
    gpu_milli: int
    devices: int
    gpu_models: tuple[str, ...] = ()

    @classmethod
    def of(cls, gpu_milli: int, cpu_milli: int, gpu_models: tuple[str, ...] = ()) -> "Demand":
        """Return the demand of a task that asks for `gpu_milli` in all."""
        if gpu_milli < DEVICE:
            return cls(cpu_milli, gpu_milli, 1 if gpu_milli else 0, gpu_models)
        return cls(cpu_milli, DEVICE, gpu_milli // DEVICE, gpu_models)

    @property
    def total_milli(self) -> int:
        """GPU over all its devices, in milli-GPU."""
        return self.gpu_milli * self.devices

    @property
    def is_share(self) -> bool:
        """Tell whether it takes part of one device."""
        return self.devices == 1 and self.gpu_milli < DEVICE


@dataclass(slots=True)
class FreeNode:
    """What is free on one node: CPU, each device's milli-GPU by index, and what runs there.

    `labels` counts the tasks with GPUs by label: `SHARE`, or their number of devices.
    """

    cpu_milli: int
    gpus: list[int]
    model: str = ""
    labels: dict[int, int] = field(default_factory=dict)

    @property
    def gpu_milli(self) -> int:
        """Free GPU over all devices, in milli-GPU."""
        return sum(self.gpus)

    @property
    def largest(self) -> int:
        """The most that one device has free, in milli-GPU."""
        return max(self.gpus, default=0)

    @property
    def whole(self) -> int:
        """Number of devices that are wholly free."""
        return self.gpus.count(DEVICE)

    def state(self) -> State:
        """Return what fragmentation depends on, for looking up answers already found."""
        return self.cpu_milli, tuple(sorted(self.gpus)), self.model

    def take(self, demand: Demand, devices: Sequence[int]) -> None:
        """Take a task's amounts, on the devices of these indices."""
        self.cpu_milli -= demand.cpu_milli
        for index in devices:
            self.gpus[index] -= demand.gpu_milli
        if devices:
            label = SHARE if demand.is_share else demand.devices
            self.labels[label] = self.labels.get(label, 0) + 1

    def give_back(self, demand: Demand, devices: Sequence[int]) -> None:
        """Undo `take`."""
        self.cpu_milli += demand.cpu_milli
        for index in devices:
            self.gpus[index] += demand.gpu_milli
        if devices:
            label = SHARE if demand.is_share else demand.devices
            self.labels[label] -= 1
            if not self.labels[label]:
                del self.labels[label]


class DemandTable:
    """Shapes as columns of numbers; those that differ in models only are scored once.

    Arrays are over *plain* demands (CPU, GPU, devices): `cpu`, `devices`, `milli` of one device,
    `total` over its devices, `label`. `spread` turns an array over these into one over `demands`.
    """

    def __init__(self, demands: Sequence[Demand]) -> None:
        self.demands = tuple(demands)
        plain = sorted({demand[:3] for demand in demands})
        place = {demand: index for index, demand in enumerate(plain)}
        self.plain_of: IntArray = np.array([place[demand[:3]] for demand in demands], np.int64)
        columns = np.array(plain, np.int64).reshape(-1, 3).T
        self.cpu, self.milli, self.devices = (np.ascontiguousarray(column) for column in columns)
        self.total = self.milli * self.devices
        share = (self.devices == 1) & (self.milli < DEVICE)
        self.shares: IntArray = np.flatnonzero(share)
        self.others: IntArray = np.flatnonzero(~share)
        self.label = np.where(share, SHARE, self.devices)
        # What a node must have: a device with so much free, and so many wholly free ones.
        self.least_free = np.where(share, self.milli, 0)
        self.least_whole = np.where(share, 0, self.devices)
        self._allowed: dict[str, BoolArray] = {}

    def fits(self, node: FreeNode) -> BoolArray:
        """Tell for each plain demand whether CPU and GPUs of this node suffice."""
        enough: BoolArray = (
            (self.cpu <= node.cpu_milli)
            & (self.least_free <= node.largest)
            & (self.least_whole <= node.whole)
        )
        return enough

    def spread(self, scores: IntArray, model: str) -> IntArray:
        """Return the scores of all demands from those of their plain demands, on this model."""
        return np.where(self._allows(model), scores[self.plain_of], INFEASIBLE)

    def _allows(self, model: str) -> BoolArray:
        if model not in self._allowed:
            allowed = [
                not demand.gpu_models or model in demand.gpu_models for demand in self.demands
            ]
            self._allowed[model] = np.array(allowed, np.bool_)
        return self._allowed[model]
