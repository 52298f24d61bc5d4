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
    """The times of one pod; `why` is why it stopped."""

    created_at: datetime
    scheduled_at: datetime | None = None
    ready_at: datetime | None = None
    stopping_at: datetime | None = None
    closed_at: datetime | None = None
    why: str = ""


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
    moves = [(span.created_at, "live", "")]
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
