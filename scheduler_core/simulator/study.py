"""The placement study of the FGD paper: tasks only arrive, one by one, and never leave.

Protocol (Weng et al., USENIX ATC'23, section 6): each arrival is tried once on all nodes; a misfit
is dropped, yet counts as arrived. After every arrival the share of GPUs in use and the fragmented
share are recorded; a point of the curve is the mean over the records whose arrived demand rounds to
that percentage of all GPUs. Typical kinds come from the trace as it was, before tuning.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

import numpy as np

from scheduler_core.placement.demands import INFEASIBLE, Demand, DemandTable, FreeNode
from scheduler_core.placement.fragmentation import Typical
from scheduler_core.placement.scale import STUDY
from scheduler_core.placement.scored import SCORINGS, Maker
from scheduler_core.placement.scoring import Scores
from scheduler_core.resources import DEVICE
from scheduler_core.simulator.fullness import Fullness
from scheduler_core.simulator.matched import FINE, Matched
from scheduler_core.traces import Job, Node

TASKS_PER_NODE = 1001
"""What the study's program lets a node run at most."""

POLICIES: dict[str, Maker] = {
    **SCORINGS,
    "pack": lambda table, typical, scale, seed: Fullness(table, 1),
    "spread": lambda table, typical, scale, seed: Fullness(table, -1),
    "matched": lambda table, typical, scale, seed: Matched(table, typical),
}
"""Policies by name."""
STUDY_ONLY = ("matched",)
"""Those the planner does not have."""


@dataclass(frozen=True, slots=True)
class Point:
    """One whole percentage of arrived demand, and means in percent over its records.

    `fragmented_pct` is of all GPUs, `fragmented_of_idle_pct` of those not in use.
    """

    arrived_pct: int
    allocated_pct: float
    fragmented_pct: float
    fragmented_of_idle_pct: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished study: the curve, and how many arrivals were placed or dropped."""

    curve: tuple[Point, ...]
    placed: int
    dropped: int
    allocated_milli: int

    def at(self, arrived_pct: int) -> Point:
        """Return the point at this percentage. Raises `KeyError` when the curve lacks it."""
        for point in self.curve:
            if point.arrived_pct == arrived_pct:
                return point
        raise KeyError(arrived_pct)


def demand_of(job: Job) -> Demand:
    """Return what a job of one task asks of a node."""
    return Demand.of(job.gpu_milli, job.cpu_milli, job.gpu_models)


def typical_of(jobs: Iterable[Job]) -> Typical:
    """Return the typical kinds of a trace."""
    return Typical(Counter(demand_of(job) for job in jobs))


def capacity_milli(nodes: Iterable[Node]) -> int:
    """Return all GPU of the nodes, in milli-GPU."""
    return sum(node.gpus for node in nodes) * DEVICE


def arrival_order(jobs: Sequence[Job], capacity: int, load: float, draw: Random) -> list[int]:
    """Return the rows of `jobs` in an order of arrival whose demand is `load` × `capacity`.

    The trace is shuffled; then rows drawn with replacement are appended until the next would pass
    the target (its milli of one device counting), or uniformly drawn rows are removed.
    """
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].id)
    draw.shuffle(order)
    target = load * capacity
    demand = sum(job.gpu_milli for job in jobs)
    while demand > target:
        demand -= jobs[order.pop(draw.randrange(len(order)))].gpu_milli
    while demand <= target and any(job.gpu_milli for job in jobs):
        row = draw.randrange(len(jobs))
        if demand + min(jobs[row].gpu_milli, DEVICE) > target:
            break
        order.append(row)
        demand += jobs[row].gpu_milli
    return order


def node_order(nodes: Sequence[Node], draw: Random) -> list[int]:
    """Return a random ranking of `nodes` by row; it breaks ties all study long."""
    order = sorted(range(len(nodes)), key=lambda row: nodes[row].name)
    draw.shuffle(order)
    return order


class Study:
    """Nodes in rank order, filled by one policy."""

    def __init__(
        self,
        nodes: Sequence[Node],
        table: DemandTable,
        typical: Typical,
        kinds: Mapping[Demand, int] = MappingProxyType({}),
    ) -> None:
        """Prepare the empty nodes; `kinds` is how often each demand occurs in the trace."""
        self.table = table
        self._kinds = kinds
        self.typical = typical
        self.capacity = capacity_milli(nodes)
        self.allocated = 0
        self._nodes = [FreeNode(n.cpu_milli, [DEVICE] * n.gpus, n.gpu_model) for n in nodes]
        self._memory = np.array([node.memory_mib for node in nodes], np.int64)
        self._room = np.full(len(nodes), TASKS_PER_NODE)
        self._fragmented = [typical.on(node) for node in self._nodes]
        self.fragmented = sum(self._fragmented)

    def run(self, arrivals: Iterable[tuple[int, Job]], scores: Scores) -> Outcome:
        """Place `arrivals`, pairs of (index of the demand in the table, job), one by one."""
        bias = scores.bias(self._nodes, self._kinds) if isinstance(scores, Matched) else None
        matrix = np.column_stack([scores.column(node) for node in self._nodes])
        curve = _Curve(self.capacity, self.typical)
        arrived = placed = dropped = 0
        for index, job in arrivals:
            able = (self._memory >= job.memory_mib) & (self._room > 0)
            row = matrix[index]
            if bias is not None:
                row = np.where(row == INFEASIBLE, INFEASIBLE, FINE * row + bias[index])
            chosen = scores.choose(np.where(able, row, INFEASIBLE))
            arrived += job.gpu_milli
            if chosen is None:
                dropped += 1
            else:
                placed += 1
                self._place(chosen, index, job, scores)
                matrix[:, chosen] = scores.column(self._nodes[chosen])
            curve.record(arrived, self.allocated, self.fragmented)
        return Outcome(curve.points(), placed, dropped, self.allocated)

    def _place(self, chosen: int, index: int, job: Job, scores: Scores) -> None:
        node = self._nodes[chosen]
        node.take(self.table.demands[index], scores.devices(node, index))
        self._memory[chosen] -= job.memory_mib
        self._room[chosen] -= 1
        self.allocated += job.gpu_milli
        fragmented = self.typical.on(node)
        self.fragmented += fragmented - self._fragmented[chosen]
        self._fragmented[chosen] = fragmented


class _Curve:
    """Sums of the records of each percentage."""

    def __init__(self, capacity: int, typical: Typical) -> None:
        self._capacity = capacity
        self._typical = typical
        self._sums: dict[int, list[float]] = {}

    def record(self, arrived: int, allocated: int, fragmented: int) -> None:
        """Add one record; GPU in milli-GPU, fragmentation weighed."""
        sums = self._sums.setdefault(round(100 * arrived / self._capacity), [0, 0.0, 0.0, 0.0])
        milli = self._typical.milli_of(fragmented)
        idle = self._capacity - allocated
        sums[0] += 1
        # The published figures round the allocation of each record before they average.
        sums[1] += round(100 * allocated / self._capacity, 2)
        sums[2] += 100 * milli / self._capacity
        sums[3] += 100 * milli / idle if idle else 0.0

    def points(self) -> tuple[Point, ...]:
        """Return the means, by percentage."""
        return tuple(
            Point(arrived, sums[1] / sums[0], sums[2] / sums[0], sums[3] / sums[0])
            for arrived, sums in sorted(self._sums.items())
        )


def study(
    jobs: Sequence[Job],
    nodes: Sequence[Node],
    make: Maker,
    arrivals: Sequence[int],
    ranks: Sequence[int],
    seed: int = 0,
) -> Outcome:
    """Run the study: `arrivals` are rows of `jobs`, `ranks` rows of `nodes`, best rank first.

    Raises `IndexError` for a row that does not exist.
    """
    demands = [demand_of(job) for job in jobs]
    table = DemandTable(sorted(set(demands)))
    places = {demand: place for place, demand in enumerate(table.demands)}
    typical = typical_of(jobs)
    ranked = [nodes[row] for row in ranks]
    pairs = ((places[demands[row]], jobs[row]) for row in arrivals)
    kinds = Counter(demands)
    return Study(ranked, table, typical, kinds).run(pairs, make(table, typical, STUDY, str(seed)))
