"""The planner as a decider: its state is kept, events are applied to it, and `decide` is called.

Arrivals, starts, preemptions and ends are changed in place. What is rarer and changes many things
(an estimate that was wrong, a node's failure, the edge of a quota or reservation) builds the state
anew from the snapshot of that moment; a test shows both ways to give the same state.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from scheduler_core import planner
from scheduler_core.model import Placement, Plan, Preempted, Running, Snapshot, Start, Workload
from scheduler_core.resources import DEVICE
from scheduler_core.scratch import USED_UNIT, State
from scheduler_core.scratch.held import Held, difference, without
from scheduler_core.scratch.terms import boundaries
from scheduler_core.simulator.events import Event, Rank
from scheduler_core.simulator.log import Part
from scheduler_core.simulator.replay import Begin, Stop
from scheduler_core.simulator.usage import Usage


class Live:
    """The engine on a cluster that lives.

    `base` is what there is at first; `workloads` are all there will ever be, numbered by place,
    with unique ids. `plan` is the last one made.
    """

    def __init__(self, base: Snapshot, workloads: Sequence[Workload]) -> None:
        self.plan: Plan | None = None
        self._base = base
        self._workloads = workloads
        self._number = {one.id: number for number, one in enumerate(workloads)}
        self._place = {node.name: number for number, node in enumerate(base.nodes)}
        self._team = {team.name: number for number, team in enumerate(base.teams)}
        self._usage = Usage(
            base.policy.half_life_seconds, [team.used_gpu_seconds for team in base.teams]
        )
        # How many outages each node is in.
        self._down: Counter[int] = Counter()
        # In the order in which they began to wait, and to run.
        self._waiting: dict[str, Workload] = {}
        self._running: dict[str, Workload] = {}
        self._expected: list[tuple[int, str]] = []
        self._now = base.now
        for workload in base.workloads:
            if workload.running is None:
                self._waiting[workload.id] = workload
            else:
                self._run(workload, workload.running.started_at)
        self._usage.advance(base.now)
        self.state = State(self.snapshot())
        self._is_stale = False

    def snapshot(self) -> Snapshot:
        """Return the snapshot of this moment."""
        used = self._usage.gpu_seconds()
        nodes = self._base.nodes
        if any(self._down.values()):
            nodes = tuple(
                replace(node, schedulable=False) if self._down[number] else node
                for number, node in enumerate(nodes)
            )
        return replace(
            self._base,
            now=self._now,
            teams=tuple(
                replace(team, used_gpu_seconds=amount)
                for team, amount in zip(self._base.teams, used, strict=True)
            ),
            nodes=nodes,
            workloads=(*self._waiting.values(), *self._running.values()),
        )

    def arrive(self, job: int) -> None:
        """Take note of a workload that begins to wait."""
        workload = self._workloads[job]
        self._waiting[workload.id] = workload
        self.state.waiting[workload.id] = workload

    def finish(self, job: int) -> None:
        """Take note that a running workload has ended."""
        name = self._workloads[job].id
        self._leave(name)
        if not self._is_stale:
            self.state.stop(self.state.running[name])

    def happen(self, event: Event) -> Sequence[Stop]:
        """Take note of a node's failure or repair, or of an edge in the terms."""
        self._is_stale = True
        if event.rank is Rank.REPAIR:
            self._down[event.subject] -= 1
        if event.rank is not Rank.FAILURE:
            return ()
        self._down[event.subject] += 1
        node = self._base.nodes[event.subject].name
        hit = [
            one.id
            for one in self._running.values()
            if one.running and any(place.node == node for place in one.running.placements)
        ]
        return [self._stop(name, event.at, self._unsaved(name, event.at)) for name in hit]

    def decide(self, now: int) -> tuple[Sequence[Begin], Sequence[Stop]]:
        """Call the planner on the state of now; return what starts and what is preempted."""
        self._advance(now)
        self.plan = planner.decide(self.state)
        stops = [self._preempt(one, now) for one in self.plan.preemptions]
        return [self._start(start, now) for start in self.plan.starts], stops

    def begin_of(self, workload: Workload) -> Begin:
        """Return what a running workload holds, and where."""
        assert workload.running is not None
        per_task = workload.per_task
        parts = tuple(
            Part(self._place[spot.node], spot.tasks * per_task.cpu_milli, spot.gpus)
            for spot in workload.running.placements
        )
        milli = workload.running.tasks * per_task.gpu_milli
        return Begin(self._number[workload.id], milli, parts)

    def _advance(self, now: int) -> None:
        self._usage.advance(now)
        self._now = now
        self._note_wrong_estimates(now)
        snapshot = self.snapshot()
        if self._is_stale:
            self.state = State(snapshot)
            self._is_stale = False
            return
        self.state.now = now
        self.state.snapshot = snapshot
        self.state.used = [team.used_gpu_seconds * USED_UNIT for team in snapshot.teams]

    def _note_wrong_estimates(self, now: int) -> None:
        """See to it that work past its announced end has no known end any more."""
        while self._expected and self._expected[0][0] <= now:
            ends_at, name = heappop(self._expected)
            held = None if self._is_stale else self.state.running.get(name)
            self._is_stale |= held is not None and held.ends_at == ends_at

    def _start(self, start: Start, now: int) -> Begin:
        workload = self._waiting.pop(start.workload)
        running = replace(workload, running=Running(now, start.placements))
        self._run(running, now)
        self.state.begin(running)
        return self.begin_of(running)

    def _run(self, workload: Workload, now: int) -> None:
        self._running[workload.id] = workload
        self._use(workload, 1)
        if workload.duration_seconds is not None:
            heappush(self._expected, (now + workload.duration_seconds, workload.id))

    def _use(self, workload: Workload, sign: int) -> None:
        """Count what it holds, which may be less than all its tasks ask for."""
        assert workload.running is not None
        milli = workload.running.tasks * workload.per_task.gpu_milli
        self._usage.change(self._team[workload.team], sign * milli)

    def _preempt(self, preempted: Preempted, now: int) -> Stop:
        """Stop the victim, or let so many of its tasks go."""
        name = preempted.workload
        held = self.state.running[name]
        going = held.tasks if preempted.tasks is None else preempted.tasks
        milli = going * held.workload.per_task.gpu_milli
        lost = preempted.lost_gpu_seconds * DEVICE // milli if milli else 0
        self.state.stop(held)
        if going >= held.tasks:
            return self._stop(name, now, lost)
        return self._shrink(
            self._running[name], without(held, going), min(lost, now - held.started_at)
        )

    def _shrink(self, before: Workload, left: Held, lost: int) -> Stop:
        """Let the tasks go that are not `left`; the others run on as if nothing had happened."""
        assert before.running is not None
        names = self._base.nodes
        kept = tuple(Placement(names[node].name, tasks, gpus) for node, tasks, gpus in left.spots)
        after = replace(before, running=replace(before.running, placements=kept))
        self._use(before, -1)
        self._use(after, 1)
        self._running[before.id] = after
        self.state.begin(after)
        was, rest = self.begin_of(before), self.begin_of(after)
        return Stop(was.job, lost, rest, _gone(was.parts, rest.parts))

    def _stop(self, name: str, now: int, lost: int) -> Stop:
        """Stop running work and let it wait again for what is left of it."""
        running = self._leave(name)
        assert running.running is not None
        ran = now - running.running.started_at
        lost = min(lost, ran)
        announced = running.duration_seconds
        left = None if announced is None else max(1, announced - ran + lost)
        self._waiting[name] = replace(running, running=None, duration_seconds=left)
        self.state.waiting[name] = self._waiting[name]
        return Stop(self._number[name], lost)

    def _leave(self, name: str) -> Workload:
        running = self._running.pop(name)
        self._use(running, -1)
        return running

    def _unsaved(self, name: str, now: int) -> int:
        """Return the work since the last save, in seconds; all of it where nothing is saved."""
        workload = self._running[name]
        assert workload.running is not None
        begun = workload.running.started_at
        saved = None if workload.checkpoint is None else workload.checkpoint.last_saved_at
        return now - max(begun, begun if saved is None else saved)


def edges(snapshot: Snapshot) -> list[Event]:
    """Return an event for each later moment at which quotas, reservations or maintenance change."""
    moments = set(boundaries(snapshot))
    for entry in snapshot.maintenance:
        moments |= {entry.starts_at, entry.ends_at}
    return [
        Event(moment, Rank.RESERVATION, 0, 0) for moment in sorted(moments) if moment > snapshot.now
    ]


def _gone(before: Sequence[Part], after: Sequence[Part]) -> tuple[Part, ...]:
    """Return what was held before and is no more."""
    kept = {hold.node: hold for hold in after}
    gone: list[Part] = []
    for was in before:
        rest = kept.get(was.node, Part(was.node, 0, ()))
        devices = difference(was.devices, rest.devices)
        if devices or was.cpu_milli > rest.cpu_milli:
            gone.append(Part(was.node, was.cpu_milli - rest.cpu_milli, devices))
    return tuple(gone)
