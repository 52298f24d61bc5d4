"""Work that holds devices, and what is left of it when some of its tasks go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler_core.model import Placement, Workload
from scheduler_core.resources import Amount

Devices = tuple[tuple[int, int], ...]
"""Devices of one node and the milli-GPU held of each; a device stands there once."""

Spot = tuple[int, int]
"""A node's number and how many tasks it gets."""


class Hold(NamedTuple):
    """What one workload holds of one node, and until when; null is no known end."""

    ends_at: int | None
    gpus: Devices
    amount: Amount


@dataclass(frozen=True, slots=True)
class Held:
    """A workload that runs, or starts in this cycle (`fresh`), and what it holds.

    `spots` are (node, tasks, devices). `ends_at` is null where no end is known or it has passed.
    """

    workload: Workload
    team: int
    pool: int
    spots: tuple[tuple[int, int, Devices], ...]
    tasks: int
    started_at: int
    ends_at: int | None
    fresh: bool = False
    stopping_for: str | None = None

    @property
    def amount(self) -> Amount:
        """Return what all its tasks hold."""
        return self.workload.per_task.amount.times(self.tasks)

    @property
    def gpu_milli(self) -> int:
        """Return the milli-GPU all its tasks hold."""
        return self.tasks * self.workload.per_task.gpu_milli


def without(held: Held, tasks: int) -> Held:
    """Return the work with so many tasks less, the last ones first."""
    spots = []
    going = tasks
    milli = held.workload.per_task.gpu_milli
    for node, count, gpus in reversed(held.spots):
        less = min(going, count)
        going -= less
        if less < count:
            spots.append((node, count - less, _shorten(gpus, less * milli)))
    return Held(
        held.workload,
        held.team,
        held.pool,
        tuple(reversed(spots)),
        held.tasks - tasks,
        held.started_at,
        held.ends_at,
        held.fresh,
        held.stopping_for,
    )


def _shorten(gpus: Devices, milli: int) -> Devices:
    left = []
    for device, held in reversed(gpus):
        less = min(milli, held)
        milli -= less
        if less < held:
            left.append((device, held - less))
    return tuple(reversed(left))


def freed(held: Held, left: Held | None) -> list[tuple[int, Devices, Amount]]:
    """Return what the work gives back, node by node, when only so much of it is left."""
    per_task = held.workload.per_task.amount
    kept = {} if left is None else {node: (count, gpus) for node, count, gpus in left.spots}
    given = []
    for node, count, gpus in held.spots:
        rest, rest_gpus = kept.get(node, (0, ()))
        given.append((node, difference(gpus, rest_gpus), per_task.times(count - rest)))
    return given


def difference(gpus: Devices, rest: Devices) -> Devices:
    """Return what the first has and the second has not."""
    if not rest:
        return gpus
    gone = dict(gpus)
    for device, milli in rest:
        gone[device] -= milli
    return tuple((device, milli) for device, milli in gone.items() if milli)


def spots_of(
    placements: Sequence[Placement], index: Mapping[str, int]
) -> tuple[tuple[int, int, Devices], ...]:
    """Return the placements by node number, each node and each device standing there once."""
    tasks: dict[int, int] = {}
    gpus: dict[int, dict[int, int]] = {}
    for placement in placements:
        node = index[placement.node]
        tasks[node] = tasks.get(node, 0) + placement.tasks
        held = gpus.setdefault(node, {})
        for device, milli in placement.gpus:
            held[device] = held.get(device, 0) + milli
    return tuple((node, count, tuple(gpus[node].items())) for node, count in tasks.items())
