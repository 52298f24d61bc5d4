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
    which matters there, while whole devices can be dealt out when work starts.

    `is_plain` tells that devices alone decide for all work that asks, for each device, no more CPU
    and memory than the `rates` say: as many times the rate is free as devices are. It may be false
    where that is so, never true where it is not.
    """

    __slots__ = (
        "_cpu",
        "_memory",
        "_rates",
        "_rows",
        "_spare_cpu",
        "_spare_memory",
        "_times",
        "_whole",
    )

    def __init__(
        self,
        now: int,
        whole: int,
        amount: Amount,
        devices: Sequence[int] | None,
        rates: tuple[int, int] = (0, 0),
    ) -> None:
        self._times = [now]
        self._whole = [whole]
        self._cpu = [amount.cpu_milli]
        self._memory = [amount.memory_mib]
        self._rows = None if devices is None else [list(devices)]
        self._rates = rates
        self._spare_cpu = amount.cpu_milli - rates[0] * whole
        self._spare_memory = amount.memory_mib - rates[1] * whole

    def copy(self) -> "Profile":
        """Return a profile of its own that says the same."""
        new = Profile.__new__(Profile)
        new._times, new._whole = self._times[:], self._whole[:]
        new._cpu, new._memory = self._cpu[:], self._memory[:]
        new._rows = None if self._rows is None else [row[:] for row in self._rows]
        new._rates = self._rates
        new._spare_cpu, new._spare_memory = self._spare_cpu, self._spare_memory
        return new

    @property
    def is_plain(self) -> bool:
        """Tell whether devices alone decide."""
        return self._rows is None and self._spare_cpu >= 0 and self._spare_memory >= 0

    @property
    def has_rows(self) -> bool:
        """Tell whether it matters which device is which."""
        return self._rows is not None

    def free_in_turn(self, ends: Iterable[tuple[int, int, Amount, Devices]]) -> None:
        """Let devices, CPU and memory come free for good, one after the other in order of time.

        The profile must still be as it was built, without any step.
        """
        for end, whole, amount, gpus in ends:
            if end > self._times[-1]:
                self._times.append(end)
                for values in (self._whole, self._cpu, self._memory):
                    values.append(values[-1])
                if self._rows is not None:
                    self._rows.append(list(self._rows[-1]))
            self._add(len(self._times) - 1, 1, whole, amount, gpus)
            self._spare_cpu += min(0, amount.cpu_milli - whole * self._rates[0])
            self._spare_memory += min(0, amount.memory_mib - whole * self._rates[1])

    def _add(self, number: int, sign: int, whole: int, amount: Amount, gpus: Devices) -> None:
        """Change one step."""
        self._cpu[number] += sign * amount[1]
        self._memory[number] += sign * amount[2]
        if self._rows is None:
            self._whole[number] += sign * whole
        else:
            row = self._rows[number]
            for device, milli in gpus:
                row[device] += sign * milli
            self._whole[number] = row.count(DEVICE)

    def apply(self, changes: Iterable[Change]) -> None:
        """Add and take what the changes say."""
        for start, end, sign, whole, amount, gpus in changes:
            first, last = self._cut(start), self._cut(end)
            cpu, memory = sign * amount[1], sign * amount[2]
            self._spare_cpu += min(0, cpu - sign * whole * self._rates[0])
            self._spare_memory += min(0, memory - sign * whole * self._rates[1])
            if self._rows is not None:
                for number in range(first, last):
                    self._add(number, sign, whole, amount, gpus)
                continue
            wholes, cpus, memories = self._whole, self._cpu, self._memory
            devices = sign * whole
            for number in range(first, last):
                wholes[number] += devices
                cpus[number] += cpu
                memories[number] += memory

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

    def earliest(self, need: Need, after: int, duration: int) -> int | None:
        """Return the first moment from `after` on when one task fits for so long, or None."""
        times, fits = self._times, self.tasks_by_step(need)
        count = len(times)
        reach = first = max(0, bisect_right(times, after) - 1)
        for number in range(first, count):
            start = max(after, times[number])
            end = min(FOREVER, start + duration)
            reach = max(reach, number)
            while reach < count and fits[reach] and times[reach] < end:
                reach += 1
            if reach < count and times[reach] < end:
                continue
            if self._rows is None or self.tasks(need, start, end):
                return start
        return None

    def tasks_by_step(self, need: Need) -> list[int]:
        """Return how many tasks fit in each step."""
        per_task = need.per_task
        count = [PLENTY] * len(self._times)
        if need.devices:
            count = [free // need.devices for free in self._whole]
        elif need.is_fraction:
            part = per_task.gpu_milli
            count = [sum(free // part for free in row) for row in self._rows or ()] or (
                [0] * len(count)
            )
        for ask, free in ((per_task.cpu_milli, self._cpu), (per_task.memory_mib, self._memory)):
            if ask:
                count = [min(most, left // ask) for most, left in zip(count, free, strict=True)]
        return [max(0, most) for most in count]

    def devices_by_step(self) -> tuple[list[int], list[int]]:
        """Return when each step begins, and its wholly free devices."""
        return self._times, self._whole

    def whole_at(self, moment: int) -> int:
        """Return how many devices are wholly free at the moment."""
        return self._whole[max(0, bisect_right(self._times, moment) - 1)]

    def moments(self) -> Sequence[int]:
        """Return the moments at which something changes, `now` first."""
        return self._times
