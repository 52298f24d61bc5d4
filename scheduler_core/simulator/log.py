"""What happened to every job: the only thing a replay writes and a report reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

NEVER = -1


class Spell(NamedTuple):
    """One uninterrupted run of a job: from `start` to `end`, holding `gpu_milli`.

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
    log is complete, None for the first submission.
    """

    submitted: Sequence[int]
    durations: Sequence[int]
    gpu_milli: Sequence[int]
    teams: Sequence[str]
    capacity_milli: int
    begins: int | None = None
    started: list[int] = field(init=False)
    finished: list[int] = field(init=False)
    spells: list[Spell] = field(default_factory=list)
    decisions: int = 0
    preemptions: int = 0

    def __post_init__(self) -> None:
        self.started = [NEVER] * len(self.submitted)
        self.finished = [NEVER] * len(self.submitted)
