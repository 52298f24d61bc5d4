"""Builders of small snapshots, the next snapshot after a plan, and Hypothesis strategies.

For tests of the engine and of those who use it. Hypothesis is imported only when a strategy is
asked for, so that the engine itself needs numpy alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scheduler_core.model import (
    Node,
    PerTask,
    Placement,
    Plan,
    Policy,
    Pool,
    Preempted,
    Preemption,
    Quota,
    Running,
    Snapshot,
    Team,
    Workload,
)
from scheduler_core.resources import DEVICE

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

NOW = 1_767_225_600
"""The moment of every built snapshot."""


def node(name: str, gpus: int = 8, **changes: Any) -> Node:
    """Return a node of pool `p` with more CPU and memory than its GPUs need."""
    values = {"pool": "p", "cpu_milli": 1_000_000, "memory_mib": 10_000_000}
    return Node(name=name, gpus=gpus, **{**values, **changes})


def waiting(name: str, team: str, gpu_milli: int = 1000, **changes: Any) -> Workload:
    """Return a workload that waits since a minute; a task asks `gpu_milli`."""
    values = {"submitted_at": NOW - 60, "tasks": 1}
    return Workload(id=name, team=team, per_task=PerTask(gpu_milli, 1, 1), **{**values, **changes})


def running(
    name: str, team: str, on: str, devices: Iterable[int], since: int = NOW, **changes: Any
) -> Workload:
    """Return a workload of one task that holds whole devices of one node."""
    gpus = tuple((device, DEVICE) for device in devices)
    held = Running(since, (Placement(on, 1, gpus),))
    return waiting(name, team, len(gpus) * DEVICE, running=held, **changes)


def snapshot(
    nodes: Sequence[Node],
    guarantees: dict[str, int],
    workloads: Sequence[Workload],
    *,
    policy: Policy | None = None,
    **changes: Any,
) -> Snapshot:
    """Return a snapshot of pool `p` in which the teams have the guarantees, in milli-GPU."""
    values: dict[str, Any] = {
        "teams": tuple(Team(name) for name in guarantees),
        "pools": (Pool("p"),),
        "quotas": tuple(Quota(name, "p", milli) for name, milli in guarantees.items()),
    }
    return Snapshot(
        now=NOW,
        policy=policy or Policy(order="priority", backfill="off"),
        nodes=tuple(nodes),
        workloads=tuple(workloads),
        **{**values, **changes},
    )


def after(before: Snapshot, plan: Plan, seconds: int = 0) -> Snapshot:
    """Return the snapshot once the plan was carried out and so many seconds have passed."""
    starts = {start.workload: start for start in plan.starts}
    preempted = {entry.workload: entry for entry in plan.preemptions}
    workloads = []
    for workload in before.workloads:
        if workload.id in starts:
            held = Running(before.now, starts[workload.id].placements)
            workloads.append(replace(workload, running=held))
        elif workload.id in preempted:
            workloads.append(_stopped(workload, preempted[workload.id]))
        elif workload.running is not None and workload.running.stopping_for in starts:
            workloads.append(replace(workload, running=None))
        else:
            workloads.append(workload)
    return replace(before, now=before.now + seconds, workloads=tuple(workloads))


def _stopped(workload: Workload, entry: Preempted) -> Workload:
    if entry.tasks is None or workload.running is None:
        return replace(workload, running=None)
    left = entry.tasks
    kept = []
    for placement in reversed(workload.running.placements):
        going = min(left, placement.tasks)
        left -= going
        if going < placement.tasks:
            milli = going * workload.per_task.gpu_milli
            gpus = _shortened(placement.gpus, milli)
            kept.append(Placement(placement.node, placement.tasks - going, gpus))
    return replace(workload, running=replace(workload.running, placements=tuple(kept[::-1])))


def _shortened(gpus: Sequence[tuple[int, int]], milli: int) -> tuple[tuple[int, int], ...]:
    kept = []
    for device, held in reversed(gpus):
        going = min(milli, held)
        milli -= going
        if going < held:
            kept.append((device, held - going))
    return tuple(kept[::-1])


def snapshots(policies: "SearchStrategy[Policy] | None" = None) -> "SearchStrategy[Snapshot]":
    """Return a strategy of small valid snapshots: a team tree, two pools, running and waiting."""
    from hypothesis import strategies as st

    chosen = policies if policies is not None else _policies()

    @st.composite
    def build(draw: "DrawFn") -> Snapshot:
        teams = _draw_teams(draw)
        pools = (Pool("p"), Pool("q", sharing="shared", topology_levels=("rack",)))
        nodes = tuple(_draw_nodes(draw))
        return Snapshot(
            now=NOW,
            policy=draw(chosen),
            teams=teams,
            pools=pools,
            quotas=tuple(_draw_quotas(draw, teams, pools)),
            nodes=nodes,
            workloads=tuple(_draw_workloads(draw, teams, nodes)),
        )

    return build()


def _policies() -> "SearchStrategy[Policy]":
    from hypothesis import strategies as st

    from scheduler_core.model import BACKFILLS
    from scheduler_core.ordering import ORDERINGS
    from scheduler_core.placement import PLACEMENTS

    return st.builds(
        Policy,
        order=st.sampled_from(sorted(ORDERINGS)),
        placement=st.sampled_from(sorted(PLACEMENTS)),
        backfill=st.sampled_from(BACKFILLS),
        head_blocks=st.booleans(),
        aging_seconds_per_point=st.sampled_from([0, 60]),
        preemption=st.builds(
            Preemption,
            enabled=st.booleans(),
            strategies=st.sampled_from([("final",), ("final", "initial")]),
            min_runtime_seconds=st.sampled_from([0, 300]),
            cost_gate=st.booleans(),
        ),
    )


def _draw_teams(draw: "DrawFn") -> tuple[Team, ...]:
    from hypothesis import strategies as st

    names = ["a", "b", "c", "d"][: draw(st.integers(1, 4))]
    teams: list[Team] = []
    for name in names:
        parents: list[str | None] = [None, *(team.name for team in teams)]
        teams.append(
            Team(
                name,
                parent=draw(st.sampled_from(parents)),
                weight=draw(st.integers(0, 3)),
                priority=draw(st.integers(0, 1)),
                used_gpu_seconds=draw(st.sampled_from([0, 100, 5000])),
            )
        )
    return tuple(teams)


def _draw_nodes(draw: "DrawFn") -> list[Node]:
    from hypothesis import strategies as st

    return [
        Node(
            name=f"node-{number}",
            pool=draw(st.sampled_from(["p", "p", "q"])),
            gpus=draw(st.integers(0, 4)),
            cpu_milli=draw(st.sampled_from([4000, 16_000])),
            memory_mib=draw(st.sampled_from([4096, 65_536])),
            topology=(draw(st.sampled_from(["rack-1", "rack-2"])),),
            schedulable=draw(st.integers(0, 9)) > 0,
        )
        for number in range(draw(st.integers(1, 4)))
    ]


def _draw_quotas(draw: "DrawFn", teams: Sequence[Team], pools: Sequence[Pool]) -> list[Quota]:
    from hypothesis import strategies as st

    quotas = []
    for team in teams:
        for pool in pools:
            if not draw(st.integers(0, 4)):
                continue
            guaranteed = draw(st.integers(0, 4)) * DEVICE
            room = draw(st.none() | st.integers(0, 4).map(lambda more: more * DEVICE))
            quotas.append(
                Quota(
                    team.name,
                    pool.name,
                    guaranteed,
                    limit=None if room is None else guaranteed + room,
                    borrowing_limit=draw(st.sampled_from([None, None, 0, 2000])),
                    lending_limit=draw(st.sampled_from([None, None, 0, 1000])),
                )
            )
    return quotas


def _draw_workloads(draw: "DrawFn", teams: Sequence[Team], nodes: Sequence[Node]) -> list[Workload]:
    from hypothesis import strategies as st

    room = _Room(nodes)
    workloads = []
    for number in range(draw(st.integers(0, 10))):
        tasks = draw(st.sampled_from([1, 1, 1, 2, 3]))
        workload = Workload(
            id=f"w{number}",
            team=draw(st.sampled_from([team.name for team in teams])),
            submitted_at=NOW - draw(st.integers(0, 300)),
            tasks=tasks,
            per_task=PerTask(
                draw(st.sampled_from([0, 250, 500, 1000, 1000, 2000, 4000])),
                draw(st.sampled_from([0, 1000, 4000])),
                draw(st.sampled_from([0, 1024, 4096])),
            ),
            min_tasks=draw(st.sampled_from([None, None, 1])),
            kind=draw(st.sampled_from(["batch", "inference"])),
            priority=draw(st.integers(0, 2)),
            preemptible=draw(st.integers(0, 3)) > 0,
            duration_seconds=draw(st.sampled_from([None, 60, 600, 3600])),
        )
        if draw(st.booleans()):
            workload = room.start(workload, NOW - draw(st.integers(0, 900)))
        workloads.append(workload)
    return workloads


class _Room:
    """Free devices, CPU and memory, so that drawn running work is where it can be."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._devices = {one.name: [DEVICE] * one.gpus for one in nodes}
        self._free = {one.name: [one.cpu_milli, one.memory_mib] for one in nodes}

    def start(self, workload: Workload, at: int) -> Workload:
        """Return the workload running on the first node that takes it all, else waiting."""
        per_task = workload.per_task
        for one in self._nodes:
            asks = [
                workload.tasks * per_task.cpu_milli,
                workload.tasks * per_task.memory_mib,
            ]
            free = self._free[one.name]
            gpus = self._choose(one, per_task.gpu_milli, workload.tasks)
            if gpus is None or any(ask > left for ask, left in zip(asks, free, strict=True)):
                continue
            for device, milli in gpus:
                self._devices[one.name][device] -= milli
            self._free[one.name] = [left - ask for ask, left in zip(asks, free, strict=True)]
            held = Running(at, (Placement(one.name, workload.tasks, tuple(gpus)),))
            return replace(workload, running=held)
        return workload

    def _choose(self, one: Node, milli: int, tasks: int) -> list[tuple[int, int]] | None:
        fraction = 0 < milli < DEVICE
        if fraction and one.pool == "p":
            return None
        left = list(self._devices[one.name])
        taken: list[tuple[int, int]] = []
        part = milli if fraction else DEVICE
        for _ in range(tasks * (1 if fraction else milli // DEVICE)):
            fitting = [device for device, free in enumerate(left) if free >= part]
            if not fitting:
                return None
            left[fitting[0]] -= part
            taken.append((fitting[0], part))
        return taken
