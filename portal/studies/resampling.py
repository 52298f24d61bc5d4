"""Other jobs that might as well have come: each seed draws them anew from those that did.

After Zakay and Feitelson, "Workload resampling for performance evaluation of parallel job
schedulers" (Concurrency and Computation, 2014): who hands in jobs is drawn, not single jobs, so
that bursts and habits stay whole, and what each handed in is moved by whole weeks (in a shorter
past whole days, in one of hours whole hours), so that nights stay nights. Ours draws inside each
team, so that every team keeps its number of people; jobs of nobody are drawn one by one.

Both sides of a comparison get the same draw (common random numbers), so that what differs between
them is the change alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from scheduler_core.traces import Job

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86_400, 604_800


def draw(jobs: Sequence[Job], *, seed: int, first: int, until: int) -> list[Job]:
    """Draw as many people of each team as handed in jobs, in order of submission.

    Every job lies in `[first, until)` as those given do.
    """
    chance = Random(seed)  # noqa: S311 - a simulation, no secret
    step = unit(until - first)
    turns = max(1, (until - first) // step)
    drawn: list[Job] = []
    for sources in _by_team(jobs):
        for number in range(len(sources)):
            source = sources[chance.randrange(len(sources))]
            move = chance.randrange(turns) * step
            drawn += [_moved(job, number, first, move, turns * step) for job in source]
    drawn.sort(key=lambda job: (job.submitted_at, job.id))
    return drawn


def unit(length: int) -> int:
    """What moves are whole multiples of: the longest of week, day, hour, minute that fits twice."""
    return next((one for one in (WEEK, DAY, HOUR, MINUTE) if length >= 2 * one), 1)


def _by_team(jobs: Sequence[Job]) -> list[list[list[Job]]]:
    """For each team what each of its people handed in, both in order of their first job."""
    teams: dict[str, dict[str, list[Job]]] = defaultdict(dict)
    for job in jobs:
        key = f"u {job.user}" if job.user else f"j {job.id}"
        teams[job.team].setdefault(key, []).append(job)
    return [list(people.values()) for people in teams.values()]


def _moved(job: Job, number: int, first: int, move: int, whole: int) -> Job:
    """The job, later by a whole move and round the end of what moves; the rest stays."""
    offset = job.submitted_at - first
    if offset < whole:
        offset = (offset + move) % whole
    return replace(job, id=f"{job.id}.{number}", submitted_at=first + offset)
