"""Units and the three things a task takes: GPU, CPU and memory.

GPUs are counted in milli-GPU (1000 is one device), CPU in millicores, memory in MiB.
"""

from typing import NamedTuple

DEVICE = 1000
"""Milli-GPU in one device."""

RESOURCE_NAMES = ("gpu_milli", "cpu_milli", "memory_mib")
"""The contract's names of the resources, in the order of `Amount`."""


class Amount(NamedTuple):
    """How much of each resource, in milli-GPU, millicores and MiB."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum of both."""
        return Amount(self[0] + other[0], self[1] + other[1], self[2] + other[2])

    def minus(self, other: "Amount") -> "Amount":
        """Return what is left after taking the other away; it may go below zero."""
        return Amount(self[0] - other[0], self[1] - other[1], self[2] - other[2])

    def times(self, count: int) -> "Amount":
        """Return the amount of `count` such tasks."""
        return Amount(self[0] * count, self[1] * count, self[2] * count)


NOTHING = Amount()
"""No GPU, no CPU, no memory."""


def gpus_up(milli: int) -> int:
    """Return whole devices, rounded up."""
    return -(-milli // DEVICE)


def gpus_down(milli: int) -> int:
    """Return whole devices, rounded down."""
    return milli // DEVICE


def devices_of(gpu_milli: int) -> int:
    """Return how many devices one task touches: a fraction touches one."""
    return -(-gpu_milli // DEVICE)
