"""The Capacity page: per pool what is free and what fits, and who sits on which device."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from portal.dashboards.selectors import common
from portal.dashboards.selectors.common import DEVICE, Fence, Held, TeamMark
from portal.inventory import selectors as inventory
from portal.inventory.calendar import Condition
from portal.inventory.models import NodeState
from portal.inventory.selectors import NodeRow, PoolRow
from portal.workloads.models import ChargedTo, Pod

SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Use:
    """A team's part of a device or node in milli-GPU; `team_id` None is work of no team."""

    team_id: int | None
    charged_to: str
    milli: int
    workload_id: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of a node and who is on it, most first."""

    index: int
    uses: tuple[Use, ...]

    @property
    def free_milli(self) -> int:
        """What nobody holds of it."""
        return max(0, DEVICE - sum(use.milli for use in self.uses))


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node with its devices."""

    row: NodeRow
    devices: tuple[Device, ...]

    @property
    def usable(self) -> bool:
        """Whether new work may start there now."""
        return self.row.condition is Condition.READY and self.row.state == NodeState.READY

    @property
    def free_whole(self) -> int:
        """Devices nobody is on, where new work may start."""
        return sum(1 for d in self.devices if not d.uses) if self.usable else 0

    @property
    def free_milli(self) -> int:
        """Milli-GPU nobody holds, where new work may start."""
        return sum(d.free_milli for d in self.devices) if self.usable else 0

    def by_team(self) -> list[Use]:
        """Who is on this node, most first."""
        sums: dict[tuple[int | None, str], int] = defaultdict(int)
        for device in self.devices:
            for use in device.uses:
                sums[use.team_id, use.charged_to] += use.milli
        uses = [Use(team, charged, milli) for (team, charged), milli in sums.items()]
        return sorted(uses, key=lambda u: (-u.milli, u.team_id or 0, u.charged_to))


@dataclass(frozen=True, slots=True)
class Fits:
    """How many jobs of so many GPUs on one node would fit now."""

    size: int
    jobs: int
    whole: int

    @property
    def fragmented(self) -> bool:
        """Fewer than the free GPUs would give if they stood together."""
        return self.jobs < self.whole


@dataclass(frozen=True, slots=True)
class PoolUse:
    """One pool now: its nodes, what is free, what fits, and who holds how much."""

    row: PoolRow
    nodes: tuple[NodeUse, ...]
    held: tuple[tuple[TeamMark | None, Held], ...]
    fences: tuple[tuple[TeamMark, Fence, Held], ...]

    @property
    def free_milli(self) -> int:
        """Milli-GPU free on nodes where new work may start."""
        return sum(node.free_milli for node in self.nodes)

    @property
    def percent_held(self) -> float:
        """How much of it is allocated."""
        total = sum(held.total for _team, held in self.held)
        return 100 * total / (self.row.gpus * DEVICE) if self.row.gpus else 0.0

    @property
    def out(self) -> int:
        """GPUs of nodes where nothing new may start."""
        return sum(node.row.gpus for node in self.nodes if not node.usable)

    @property
    def memory_gib(self) -> float:
        """Memory of one GPU."""
        return (self.row.memory_mib or 0) / 1024

    @property
    def scattered(self) -> Fits | None:
        """The largest size of which fewer fit than the free GPUs would give."""
        return next((fit for fit in reversed(self.fits) if fit.fragmented), None)

    @property
    def fits(self) -> tuple[Fits, ...]:
        """Jobs of each size, as long as some node is that large."""
        free = [node.free_whole for node in self.nodes]
        total = sum(free)
        return tuple(
            Fits(size, sum(count // size for count in free), total // size)
            for size in SIZES
            if size <= max(self.row.largest_node, 1)
        )


def list_pool_use(*, now: datetime) -> list[PoolUse]:
    """Every pool with its nodes and devices: a fixed number of queries."""
    marks = common.team_marks()
    nodes: dict[int, list[NodeRow]] = defaultdict(list)
    for node in inventory.list_nodes(now=now):
        nodes[node.pool_id].append(node)
    pods = _list_pods()
    on_nodes: dict[int, list[PodOnNode]] = defaultdict(list)
    for pod in pods:
        on_nodes[pod.node_id].append(pod)
    held = common.sum_held((p.team_id, p.pool_id, p.charged_to, p.milli) for p in pods)
    fences = common.list_fences(now=now)
    return [
        PoolUse(
            row=row,
            nodes=tuple(NodeUse(n, devices_of(n.gpus, on_nodes[n.id])) for n in nodes[row.id]),
            held=tuple(
                (marks.get(team or 0), value)
                for (team, pool), value in sorted(held.items(), key=_largest)
                if pool == row.id
            ),
            fences=tuple(
                (marks[team], fence, held.get((team, pool), Held()))
                for (team, pool), fence in sorted(fences.items())
                if pool == row.id
            ),
        )
        for row in inventory.list_pools(now=now)
    ]


def _largest(item: tuple[tuple[int | None, int], Held]) -> tuple[int, int]:
    return (-item[1].total, item[0][0] or 0)


@dataclass(frozen=True, slots=True)
class PodOnNode:
    """A pod that holds devices: which, where the cluster tells, and whose it is."""

    team_id: int | None
    charged_to: str
    milli: int
    devices: tuple[tuple[int, int], ...]
    workload_id: int | None = None
    node_id: int = 0
    pool_id: int | None = None


def _list_pods() -> list[PodOnNode]:
    """The pods that hold devices, first those that came first: one query."""
    rows = Pod.objects.filter(
        closed_at__isnull=True, scheduled_at__isnull=False, node__isnull=False
    ).order_by("scheduled_at", "id")
    columns = ("workload__team_id", "charged_to", "gpu_milli", "devices", "workload_id")
    return [
        PodOnNode(
            team_id=team_id, charged_to=charged or ChargedTo.GUARANTEED, milli=milli,
            devices=tuple((int(index), int(amount)) for index, amount in devices),
            workload_id=job, node_id=node_id, pool_id=pool_id,
        )
        for team_id, charged, milli, devices, job, node_id, pool_id in rows.values_list(
            *columns, "node_id", "node__pool_id"
        )
        if node_id is not None
    ]  # fmt: skip


def devices_of(gpus: int, pods: Sequence[PodOnNode]) -> tuple[Device, ...]:
    """Who is on each device: as the cluster tells, and for the rest the first that has room."""
    uses: list[list[Use]] = [[] for _ in range(gpus)]
    free = [DEVICE] * gpus
    for pod in pods:
        for index, milli in pod.devices:
            if index < gpus:
                uses[index].append(Use(pod.team_id, pod.charged_to, milli, pod.workload_id))
                free[index] -= milli
    for pod in pods:
        if not pod.devices:
            for index, milli in _first_with_room(free, pod.milli):
                uses[index].append(Use(pod.team_id, pod.charged_to, milli, pod.workload_id))
                free[index] -= milli
    return tuple(
        Device(index, tuple(sorted(found, key=lambda u: -u.milli)))
        for index, found in enumerate(uses)
    )


def _first_with_room(free: Sequence[int], milli: int) -> Iterable[tuple[int, int]]:
    """Devices for an amount: a fraction on one device, else whole ones."""
    if 0 < milli < DEVICE:
        best = next((i for i, room in enumerate(free) if room >= milli), None)
        return [] if best is None else [(best, milli)]
    whole = [i for i, room in enumerate(free) if room == DEVICE]
    return [(i, DEVICE) for i in whole[: milli // DEVICE]]
