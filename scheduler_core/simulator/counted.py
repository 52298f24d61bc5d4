"""Whole GPUs on nodes, counted: a short cut for replays that no quota or reservation touches.

Where every team may borrow everything, nothing is preempted, nothing is planned ahead, all work
asks for whole devices and CPU and memory suffice, the planner's walk comes down to counting free
devices. This does nothing but count, so that a long trace is replayed in seconds. Tests hold it
equal to the planner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from scheduler_core.resources import DEVICE
from scheduler_core.simulator.events import Event
from scheduler_core.simulator.log import ANY, Part
from scheduler_core.simulator.replay import Begin, Stop
from scheduler_core.simulator.usage import Usage

Key = tuple[int, ...]
Heap = list[tuple[Key, int]]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a job wants: `tasks` times `devices` whole GPUs of one node."""

    tasks: int
    devices: int


class Shelf:
    """Nodes by their number of free devices; `pack` takes from the fullest node that fits."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.free = list(sizes)
        self._count = [0] * (max(sizes, default=0) + 1)
        # Bit n says that some node has n devices free, so that the fullest is found at once.
        self._levels = 0
        self._nodes: list[list[int]] = [[] for _ in self._count]
        for node, size in enumerate(sizes):
            self._count[size] += 1
            self._levels |= 1 << size
            heappush(self._nodes[size], node)

    def holds(self, ask: Ask) -> bool:
        """Tell whether the ask fits now."""
        if ask.tasks == 1 or not self._levels >> ask.devices:
            return self._levels >> ask.devices > 0
        if not ask.devices:
            return True
        room = sum(
            count * (free // ask.devices)
            for free, count in enumerate(self._count[ask.devices :], start=ask.devices)
        )
        return room >= ask.tasks

    def take(self, devices: int) -> int:
        """Take devices of the fullest node that has them, lowest number of equals; return it."""
        above = self._levels >> devices
        level = devices + (above & -above).bit_length() - 1
        heap = self._nodes[level]
        # An entry is stale once its node has moved to another level.
        while self.free[heap[0]] != level:
            heappop(heap)
        node = heappop(heap)
        self._move(node, -devices)
        return node

    def give(self, node: int, devices: int) -> None:
        """Give devices back."""
        self._move(node, devices)

    def _move(self, node: int, change: int) -> None:
        before = self.free[node]
        after = self.free[node] = before + change
        self._count[before] -= 1
        if not self._count[before]:
            self._levels ^= 1 << before
        self._count[after] += 1
        self._levels |= 1 << after
        heappush(self._nodes[after], node)


@dataclass(frozen=True, slots=True)
class Share:
    """Fair share among teams: each job's team by number, and the weights."""

    team_of: Sequence[int]
    weights: Sequence[int]
    half_life_seconds: int
    tick_seconds: int


class Counted:
    """Starts what fits in order: by team if there is a `share`, then by `keys`, lowest first.

    With `head_blocks` the first that does not fit holds back all behind it; without, it is skipped.
    Work of more than one task must ask for whole nodes.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        asks: Sequence[Ask],
        keys: Sequence[Key],
        *,
        head_blocks: bool = False,
        share: Share | None = None,
    ) -> None:
        self._shelf = Shelf(sizes)
        self._asks = asks
        self._keys = keys
        self._head_blocks = head_blocks
        self._teams = [0] * len(asks) if share is None else share.team_of
        self._balance = None if share is None else Balance(share)
        # One queue for each ask and team: if one job of an ask does not fit, none does.
        self._queues: dict[Ask, dict[int, Heap]] = {}
        self._where: dict[int, list[int]] = {}

    def arrive(self, job: int) -> None:
        """Take note of a job that begins to wait."""
        queues = self._queues.setdefault(self._asks[job], {})
        heappush(queues.setdefault(self._teams[job], []), (self._keys[job], job))

    def finish(self, job: int) -> None:
        """Take note that a running job has ended."""
        devices = self._asks[job].devices
        nodes = self._where.pop(job)
        for node in nodes:
            self._shelf.give(node, devices)
        if self._balance is not None:
            self._balance.end(self._teams[job], devices * len(nodes))

    def happen(self, event: Event) -> Sequence[Stop]:
        """Refuse: raises `NotImplementedError`, for here nodes do not fail."""
        raise NotImplementedError(event.rank.name)

    def decide(self, now: int) -> tuple[Sequence[Begin], Sequence[Stop]]:
        """Return the jobs that start now."""
        if self._balance is not None:
            self._balance.advance(now)
        starts: list[Begin] = []
        while (job := self._next()) is not None:
            ask = self._asks[job]
            nodes = self._where[job] = [self._shelf.take(ask.devices) for _ in range(ask.tasks)]
            if self._balance is not None:
                self._balance.start(self._teams[job], ask.devices * ask.tasks)
            milli = ask.devices * DEVICE
            devices = ((ANY, milli),)
            parts = tuple([Part(node, 0, devices) for node in nodes])
            starts.append(Begin(job, milli * ask.tasks, parts))
        return starts, ()

    def _next(self) -> int | None:
        """Take the first in order that fits out of its queue."""
        if self._head_blocks:
            heads = [queue for queues in self._queues.values() for queue in queues.items()]
        else:
            heads = [
                queue
                for ask, queues in self._queues.items()
                if queues and self._shelf.holds(ask)
                for queue in queues.items()
            ]
        if not heads:
            return None
        team, queue = min(heads, key=self._place)
        ask = self._asks[queue[0][1]]
        if self._head_blocks and not self._shelf.holds(ask):
            return None
        job = heappop(queue)[1]
        if not queue:
            del self._queues[ask][team]
        return job

    def _place(self, head: tuple[int, Heap]) -> tuple[int, tuple[Key, int]]:
        team, queue = head
        return (0 if self._balance is None else self._balance.keys[team]), queue[0]


class Balance:
    """The teams' keys of the moment: decayed use ÷ weight, a start charged a tick at once."""

    def __init__(self, share: Share) -> None:
        self._usage = Usage(share.half_life_seconds, [0] * len(share.weights))
        self._tick = share.tick_seconds
        common = _product(share.weights)
        self._factors = [common // weight for weight in share.weights]
        self.keys = [0] * len(share.weights)

    def advance(self, now: int) -> None:
        """Let time pass."""
        self._usage.advance(now)
        used = self._usage.gpu_seconds()
        self.keys = [amount * factor for amount, factor in zip(used, self._factors, strict=True)]

    def start(self, team: int, devices: int) -> None:
        """Charge a start."""
        self._usage.change(team, devices * DEVICE)
        self.keys[team] += devices * self._tick * self._factors[team]

    def end(self, team: int, devices: int) -> None:
        """Take note of an end."""
        self._usage.change(team, -devices * DEVICE)


def _product(weights: Sequence[int]) -> int:
    product = 1
    for weight in weights:
        product *= weight
    return product
