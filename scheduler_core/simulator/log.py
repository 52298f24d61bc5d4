"""What happened to every job: the only thing a replay writes and a report reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_core.placement.demands import Demand, FreeNode

NEVER = -1
ANY = -1
"""In place of a device's number: whole devices, whichever."""


class Part(NamedTuple):
    """What a run holds of one node, by its number: CPU, and milli-GPU by device."""

    node: int
    cpu_milli: int
    devices: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ground:
    """The empty nodes, and how often each demand of one task occurs in the trace."""

    nodes: Sequence[FreeNode] = ()
    kinds: Mapping[Demand, int] = field(default_factory=dict)


class Spell(NamedTuple):
    """One uninterrupted run of a job, or of tasks of it that went first, holding `gpu_milli`.

    `lost_seconds` of it had to be done again because it was preempted.
    """

    job: int
    start: int
    end: int
    gpu_milli: int
    lost_seconds: int = 0


@dataclass(slots=True)
class Log:
    """Times by job number, in seconds of the trace's clock; `NEVER` where it has not happened.

    A duration of `NEVER` is one that nobody knows: such a job does not end. `capacity_milli` is the
    GPU of all nodes; `decisions` counts calls of the decider. `begins` is the moment from which the
    log is complete, None for the first submission. `held` says of each spell where it was.
    """

    submitted: Sequence[int]
    durations: Sequence[int]
    gpu_milli: Sequence[int]
    teams: Sequence[str]
    capacity_milli: int
    begins: int | None = None
    ground: Ground = field(default_factory=Ground, repr=False)
    started: list[int] = field(init=False)
    finished: list[int] = field(init=False)
    spells: list[Spell] = field(default_factory=list)
    held: list[tuple[Part, ...]] = field(default_factory=list, repr=False)
    decisions: int = 0
    preemptions: int = 0

    def __post_init__(self) -> None:
        self.started = [NEVER] * len(self.submitted)
        self.finished = [NEVER] * len(self.submitted)
