"""What would happen from here on, under this policy or another: a replay that begins in the middle.

Nothing new arrives. Durations are taken as announced; work that has outlasted its own, or never
announced one, does not end. What was being stopped at the moment of the snapshot is taken as gone
and waits again.
"""

from dataclasses import replace

from scheduler_core.model import Snapshot, Workload
from scheduler_core.resources import DEVICE
from scheduler_core.simulator.events import Event, Rank
from scheduler_core.simulator.live import Live, edges
from scheduler_core.simulator.log import NEVER, Log
from scheduler_core.simulator.replay import Replay
from scheduler_core.simulator.running import ground_of


def what_if(snapshot: Snapshot, until: int | None = None) -> Log:
    """Return what happens to the snapshot's workloads, numbered by their place in it.

    Runs until nothing more happens, or up to the moment `until`.
    """
    workloads = tuple(_settled(one, snapshot.now) for one in snapshot.workloads)
    base = replace(snapshot, workloads=workloads)
    log = Log(
        submitted=[one.submitted_at for one in workloads],
        durations=[_duration(one, snapshot.now) for one in workloads],
        gpu_milli=[one.gpu_milli for one in workloads],
        teams=[one.team for one in workloads],
        capacity_milli=sum(node.gpus for node in snapshot.nodes) * DEVICE,
        begins=snapshot.now,
        ground=ground_of(snapshot.nodes, workloads),
    )
    live = Live(base, workloads)
    present = {
        number: None if one.running is None else (one.running.started_at, live.begin_of(one))
        for number, one in enumerate(workloads)
    }
    first = Event(snapshot.now, Rank.RESERVATION, 0, 0)
    others = [first, *edges(snapshot)]
    return Replay(log, live, others, present).run(until)


def _settled(workload: Workload, now: int) -> Workload:
    """Return the workload, waiting for what is left of it if it was being stopped."""
    running, duration = workload.running, workload.duration_seconds
    if running is None or running.stopping_for is None:
        return workload
    if duration is not None:
        duration = max(1, duration - (now - running.started_at))
    return replace(workload, running=None, duration_seconds=duration)


def _duration(workload: Workload, now: int) -> int:
    duration = workload.duration_seconds
    if duration is None:
        return NEVER
    if workload.running is not None and workload.running.started_at + duration <= now:
        return NEVER
    return duration
