"""What is free on one node from now on, step by step."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scheduler_core.backfill.steps import FOREVER
from scheduler_core.resources import DEVICE, Amount
from scheduler_core.scratch import Devices, Need
from scheduler_core.scratch.nodes import PLENTY


class Change(NamedTuple):
    """What comes free (or, with `sign` -1, is taken) from `start` to `end`.

    `whole` counts devices; `gpus` names them where they are shared.
    """

    start: int
    end: int
    sign: int
    whole: int
    amount: Amount
    gpus: Devices = ()


class Profile:
    """Free devices, CPU and memory of a node in steps.

    Where devices are shared each step also has a row of free milli-GPU per device: which device is
    which matters there, while whole devices can be dealt out when work starts. `has_losses` tells
    whether anything is ever taken, so that less may be free later than before. First moments are
    remembered until the next change, since few distinct needs ask again and again.
    """

    def __init__(self, now: int, whole: int, amount: Amount, devices: Sequence[int] | None) -> None:
        self._times = [now]
        self._whole = [whole]
        self._cpu = [amount.cpu_milli]
        self._memory = [amount.memory_mib]
        self._rows = None if devices is None else [list(devices)]
        self.has_losses = False
        self._known: dict[tuple[Need, int], tuple[int, int | None]] = {}
        self._fits: dict[Need, list[bool]] = {}

    def apply(self, changes: Iterable[Change]) -> None:
        """Add and take what the changes say."""
        self._known.clear()
        self._fits.clear()
        for change in changes:
            first, last = self._cut(change.start), self._cut(change.end)
            sign, amount = change.sign, change.amount
            self.has_losses = self.has_losses or sign < 0
            for number in range(first, last):
                self._cpu[number] += sign * amount.cpu_milli
                self._memory[number] += sign * amount.memory_mib
                if self._rows is None:
                    self._whole[number] += sign * change.whole
                else:
                    row = self._rows[number]
                    for device, milli in change.gpus:
                        row[device] += sign * milli
                    self._whole[number] = row.count(DEVICE)

    def _cut(self, moment: int) -> int:
        times = self._times
        if moment >= FOREVER:
            return len(times)
        place = bisect_left(times, moment)
        if place == 0:
            return 0
        if place == len(times) or times[place] != moment:
            times.insert(place, moment)
            for values in (self._whole, self._cpu, self._memory):
                values.insert(place, values[place - 1])
            if self._rows is not None:
                self._rows.insert(place, list(self._rows[place - 1]))
        return place

    def tasks(self, need: Need, start: int, end: int) -> int:
        """Return how many tasks fit from `start` to `end`."""
        first = max(0, bisect_right(self._times, start) - 1)
        last = max(first + 1, bisect_left(self._times, end))
        per_task = need.per_task
        count = PLENTY
        if need.devices:
            count = min(self._whole_between(first, last)) // need.devices
        elif need.is_fraction:
            row = self._free_between(first, last)
            count = sum(free // per_task.gpu_milli for free in row)
        if per_task.cpu_milli:
            count = min(count, min(self._cpu[first:last]) // per_task.cpu_milli)
        if per_task.memory_mib:
            count = min(count, min(self._memory[first:last]) // per_task.memory_mib)
        return max(0, count)

    def _whole_between(self, first: int, last: int) -> list[int]:
        if self._rows is None:
            return self._whole[first:last]
        return [self._free_between(first, last).count(DEVICE)]

    def _free_between(self, first: int, last: int) -> list[int]:
        """Return what each device has free throughout."""
        if self._rows is None:
            return []
        return [min(free) for free in zip(*self._rows[first:last], strict=True)]

    def devices(self, need: Need, tasks: int, start: int, end: int) -> Devices:
        """Return devices for tasks that fit from `start` to `end`; none where they are alike."""
        if self._rows is None or not need.per_task.gpu_milli:
            return ()
        first = max(0, bisect_right(self._times, start) - 1)
        left = self._free_between(first, max(first + 1, bisect_left(self._times, end)))
        part = need.per_task.gpu_milli if need.is_fraction else DEVICE
        taken: dict[int, int] = {}
        for _ in range(tasks * max(1, need.devices)):
            fitting = [device for device, free in enumerate(left) if free >= part]
            device = min(fitting, key=left.__getitem__)
            left[device] -= part
            taken[device] = taken.get(device, 0) + part
        return tuple(taken.items())

    def least_tasks(self, need: Need, start: int, end: int) -> int:
        """Return how many tasks of whole devices fit from `start` to `end`, devices being alike."""
        first = max(0, bisect_right(self._times, start) - 1)
        if need.devices and self._whole[first] < need.devices:
            return 0
        last = max(first + 1, bisect_left(self._times, end, first))
        per_task = need.per_task
        count = PLENTY
        if need.devices:
            count = min(self._whole[first:last]) // need.devices
        if per_task.cpu_milli:
            count = min(count, min(self._cpu[first:last]) // per_task.cpu_milli)
        if per_task.memory_mib:
            count = min(count, min(self._memory[first:last]) // per_task.memory_mib)
        return max(0, count)

    def earliest(self, need: Need, after: int, duration: int) -> int | None:
        """Return the first moment from `after` on when one task fits for so long, or None.

        Where devices are alike an answer holds for every `after` up to it.
        """
        known = self._known.get((need, duration))
        if known is not None:
            asked, found = known
            if asked == after or (
                self._rows is None and asked < after and (found is None or after <= found)
            ):
                return found
        found = self._find_earliest(need, after, duration)
        self._known[need, duration] = (after, found)
        return found

    def _find_earliest(self, need: Need, after: int, duration: int) -> int | None:
        times, fits = self._times, self._fitting(need)
        first = max(0, bisect_right(times, after) - 1)
        start: int | None = None
        for number in range(first, len(times)):
            if not fits[number]:
                start = None
                continue
            if start is None:
                start = max(after, times[number])
            end = times[number + 1] if number + 1 < len(times) else FOREVER
            if end - start >= duration or end == FOREVER:
                if self._rows is None or self.tasks(need, start, start + duration):
                    return start
                start = None
        return None

    def _fitting(self, need: Need) -> list[bool]:
        """Tell for each step whether one task fits, until the next change."""
        known = self._fits.get(need)
        if known is None:
            known = self._fits[need] = self._find_fitting(need)
        return known

    def _find_fitting(self, need: Need) -> list[bool]:
        per_task = need.per_task
        gpu_milli, cpu, memory = per_task.gpu_milli, per_task.cpu_milli, per_task.memory_mib
        devices = gpu_milli // DEVICE
        enough = [
            (devices <= whole or not devices) and cpu <= cpu_free and memory <= memory_free
            for whole, cpu_free, memory_free in zip(
                self._whole, self._cpu, self._memory, strict=True
            )
        ]
        if devices or not gpu_milli:
            return enough
        if self._rows is None:
            return [False] * len(enough)
        return [
            one and max(row, default=0) >= gpu_milli
            for one, row in zip(enough, self._rows, strict=True)
        ]

    def columns(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return when each step begins, and its free devices, CPU and memory."""
        return self._times, self._whole, self._cpu, self._memory

    def whole_at(self, moment: int) -> int:
        """Return how many devices are wholly free at the moment."""
        return self._whole[max(0, bisect_right(self._times, moment) - 1)]

    def moments(self) -> Sequence[int]:
        """Return the moments at which something changes, `now` first."""
        return self._times
