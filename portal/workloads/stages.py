"""A workload's stages, worked out from the times of its pods: which state from which instant on.

Pure: the same pods give the same stages, so that looking twice adds nothing, and a look that came
late still finds what happened in between.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from portal.workloads.models import WorkloadState

PREEMPTED = "preempted"


@dataclass(frozen=True, slots=True)
class Span:
    """The times of one pod; `why` is why it stopped.

    While it is `gated` it waits like a job without pods; `opened_at` is when that was over.
    """

    created_at: datetime
    scheduled_at: datetime | None = None
    ready_at: datetime | None = None
    stopping_at: datetime | None = None
    closed_at: datetime | None = None
    why: str = ""
    mounted_at: datetime | None = None
    initialized_at: datetime | None = None
    started_at: datetime | None = None
    gated: bool = False
    opened_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """From `at` on the workload was in this state; `why` says what brought it back or down."""

    at: datetime
    state: WorkloadState
    why: str = ""


@dataclass(slots=True)
class _Count:
    """How many pods are there, hold devices, are ready, are on their way out."""

    live: int = 0
    holding: int = 0
    ready: int = 0
    stopping: int = 0

    def state(self, needed: int) -> WorkloadState:
        if self.holding == 0:
            return WorkloadState.ADMITTED if self.live else WorkloadState.WAITING
        if self.stopping >= self.holding:
            return WorkloadState.STOPPING
        return WorkloadState.RUNNING if self.ready >= needed else WorkloadState.STARTING


_Move = tuple[datetime, str, str]


def stages(
    *,
    submitted_at: datetime,
    needed: int,
    spans: Iterable[Span],
    ended: WorkloadState | None = None,
    ended_at: datetime | None = None,
) -> list[Stage]:
    """Return the stages in order. `needed` pods must be ready for the work to run."""
    found = [Stage(submitted_at, WorkloadState.WAITING)]
    count = _Count()
    moves = sorted(move for span in spans for move in _moves(span))
    for at, group in groupby(moves, key=itemgetter(0)):
        if ended_at is not None and at >= ended_at:
            break
        why = _take(count, list(group))
        state = count.state(needed)
        if state != found[-1].state:
            back = state in (WorkloadState.WAITING, WorkloadState.ADMITTED, WorkloadState.STOPPING)
            found.append(Stage(max(at, submitted_at), state, why if back else ""))
    if ended is not None and ended_at is not None:
        found.append(Stage(max(ended_at, found[-1].at), ended))
    return _without_the_passing(found)


def _moves(span: Span) -> list[_Move]:
    """What a pod does to the count, and when. A pod that never held devices stops unnoticed."""
    if span.gated and span.scheduled_at is None:
        return []
    moves = [(max(span.created_at, span.opened_at or span.created_at), "live", "")]
    if span.scheduled_at is not None:
        moves.append((span.scheduled_at, "holding", ""))
        if span.ready_at is not None:
            moves.append((span.ready_at, "ready", ""))
        if span.stopping_at is not None:
            moves.append((max(span.stopping_at, span.scheduled_at), "stopping", span.why))
    if span.closed_at is not None:
        gone = ["-live"]
        if span.scheduled_at is not None:
            gone.append("-holding")
            gone += ["-ready"] if span.ready_at is not None else []
            gone += ["-stopping"] if span.stopping_at is not None else []
        last = max(moves)[0]
        moves += [(max(span.closed_at, last), what, span.why) for what in gone]
    return moves


def _take(count: _Count, moves: Sequence[_Move]) -> str:
    """Count the moves of one instant; return why pods stopped or went, if any did."""
    why = ""
    for _, what, reason in moves:
        name = what.removeprefix("-")
        setattr(count, name, getattr(count, name) + (-1 if what.startswith("-") else 1))
        why = reason or why
    return why


def _without_the_passing(found: list[Stage]) -> list[Stage]:
    """Leave out what lasted no time: of several stages at one instant the last counts."""
    kept: list[Stage] = []
    for stage in found:
        if kept and kept[-1].at == stage.at:
            passing = kept.pop()
            stage = replace(stage, why=stage.why or passing.why)
        if not kept or kept[-1].state != stage.state:
            kept.append(stage)
    return kept


def first(found: Iterable[Stage], *states: WorkloadState) -> datetime | None:
    """When it was first in one of these states."""
    return next((stage.at for stage in found if stage.state in states), None)


def count_preemptions(found: Iterable[Stage]) -> int:
    """How often it was put back to waiting to make room for somebody."""
    back = (WorkloadState.WAITING, WorkloadState.ADMITTED)
    return sum(stage.state in back and stage.why == PREEMPTED for stage in found)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a start; `ends_at` None is still under way."""

    name: str
    starts_at: datetime
    ends_at: datetime | None


PLACING, VOLUME, INIT, IMAGE, READY = "placing", "volume", "init", "image", "ready"
_BOUNDS = (
    (PLACING, "scheduled_at"),
    (VOLUME, "mounted_at"),
    (INIT, "initialized_at"),
    (IMAGE, "started_at"),
)


def steps(starts_at: datetime, ends_at: datetime | None, spans: Iterable[Span]) -> tuple[Step, ...]:
    """What a start was spent on, one after another; a gang passes a step with its last pod.

    Only what the cluster told: a step nobody told of is part of the next.
    """
    begun = [
        span
        for span in spans
        if span.scheduled_at is not None
        and starts_at <= span.scheduled_at
        and (ends_at is None or span.scheduled_at < ends_at)
    ]
    found: list[Step] = []
    until = starts_at
    for name, column in _BOUNDS:
        told = [getattr(span, column) for span in begun]
        known = [at for at in told if at is not None]
        if not known:
            continue
        if ends_at is None and len(known) < len(told) and name != INIT:
            return (*found, Step(name, until, None))
        at = max(known) if ends_at is None else min(max(known), ends_at)
        if at > until:
            found.append(Step(name, until, at))
            until = at
    if ends_at is None or ends_at > until:
        found.append(Step(READY, until, ends_at))
    return tuple(found)
