"""The figures of a replay, worked out from its log alone.

Times are seconds, ratios plain numbers, percentages of the cluster's GPUs over the makespan. A job
that never started has waited until the end of the run; one that did not finish is left out of
completion and finish-time fairness.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler_core.metrics import jain
from scheduler_core.resources import DEVICE
from scheduler_core.simulator.history import History, Series
from scheduler_core.simulator.log import NEVER, Log

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PERCENTILES = (50, 90, 95, 99)
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and percentiles of some quantity over jobs; all 0 where there are none."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Floats) -> "Spread":
        """Return the spread; a percentile is the smallest value that so many do not exceed."""
        if not values.size:
            return cls(0.0, 0.0, 0.0, 0.0, 0.0)
        points = np.percentile(values, PERCENTILES, method="inverted_cdf")
        return cls(float(values.mean()), *(float(point) for point in points))


@dataclass(frozen=True, slots=True)
class Rho:
    """Finish-time fairness (Mahajan et al., Themis, NSDI'20), over finished jobs.

    ρ = time in the system ÷ time in a private 1/N of the cluster, N the mean number of jobs there
    during the job's life; a job wider than that share is slowed in proportion. At most 1 is fair.
    """

    mean: float
    p99: float
    worst: float
    above_one_pct: float


@dataclass(frozen=True, slots=True)
class TeamFigures:
    """One team: its jobs, how long they waited, and its share of the cluster over the makespan."""

    team: str
    jobs: int
    wait_seconds: Spread
    held_pct: float
    fair_pct: float


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of one replay.

    `allocated_pct` counts GPU-seconds held, `utilised_pct` those whose work was not lost,
    `stranded_pct` GPUs free while waiting work asked for that many, `fragmented_pct` those free and
    of no use to the trace's usual work, `gpu_hours_per_completed` the cluster's GPU-hours over the
    makespan for each completed job. `jain` is over teams, of GPU held ÷ fair share at that moment,
    averaged over the moments at which something waited.
    """

    jobs: int
    completed: int
    wait_seconds: Spread
    completion_seconds: Spread
    makespan_seconds: int
    rho: Rho
    allocated_pct: float
    utilised_pct: float
    stranded_pct: float
    fragmented_pct: float
    preemptions: int
    lost_gpu_seconds: int
    jain: float
    gpu_hours_per_completed: float
    decisions: int
    teams: tuple[TeamFigures, ...]
    shares: Series = field(repr=False)


def report(log: Log, until: int | None = None) -> Report:
    """Return the figures of a finished or interrupted run.

    They are about the time up to the last end or, where it is later, `until`.
    """
    submitted = np.array(log.submitted, np.float64)
    started = np.array(log.started, np.float64)
    finished = np.array(log.finished, np.float64)
    done = finished != NEVER
    first = log.begins
    if first is None:
        first = min(log.submitted, default=0)
    ends = [first if until is None else until, *log.finished, *(spell.end for spell in log.spells)]
    last = max(first, *ends)
    waits = np.where(started == NEVER, last, started) - submitted
    history = History(log, first, last)
    held = sum((spell.end - max(first, spell.start)) * spell.gpu_milli for spell in log.spells)
    lost = sum(spell.lost_seconds * spell.gpu_milli for spell in log.spells)
    room = log.capacity_milli * max(1, last - first)
    series = history.series()
    completed = int(done.sum())
    return Report(
        jobs=len(log.submitted),
        completed=completed,
        wait_seconds=Spread.of(waits),
        completion_seconds=Spread.of((finished - submitted)[done]),
        makespan_seconds=last - first,
        rho=_rho(log, history, done, finished - submitted),
        allocated_pct=100 * held / room,
        utilised_pct=100 * (held - lost) / room,
        stranded_pct=100 * _mean(series.stranded),
        fragmented_pct=100 * _mean(series.fragmented),
        preemptions=log.preemptions,
        lost_gpu_seconds=lost // DEVICE,
        jain=_jain(series),
        gpu_hours_per_completed=room / DEVICE / HOUR / max(1, completed),
        decisions=log.decisions,
        teams=_teams(log, series, waits),
        shares=series,
    )


def _mean(values: Floats | Ints) -> float:
    return float(values.mean()) if values.size else 0.0


def _teams(log: Log, series: Series, waits: Floats) -> tuple[TeamFigures, ...]:
    of = np.array(log.teams, dtype=object)
    room = max(1, log.capacity_milli)
    return tuple(
        TeamFigures(
            team=team,
            jobs=int((of == team).sum()),
            wait_seconds=Spread.of(waits[of == team]),
            held_pct=100 * _mean(series.held[:, column]) / room,
            fair_pct=100 * _mean(series.fair[:, column]) / room,
        )
        for column, team in enumerate(series.teams)
    )


def _rho(log: Log, history: History, done: NDArray[np.bool_], lives: Floats) -> Rho:
    if not done.any():
        return Rho(0.0, 0.0, 0.0, 0.0)
    wanted = np.array(log.gpu_milli, np.float64) / max(1, log.capacity_milli)
    contenders = history.contenders()
    alone = np.maximum(np.array(log.durations, np.float64), 1) * np.maximum(1, wanted * contenders)
    values = (np.maximum(lives, 1) / alone)[done]
    return Rho(
        mean=float(values.mean()),
        p99=Spread.of(values).p99,
        worst=float(values.max()),
        # A hair above 1 is rounding, not unfairness.
        above_one_pct=100 * float((values > 1 + 1e-9).mean()),
    )


def _jain(series: Series) -> float:
    indices = [
        jain([held / fair for held, fair in zip(row, fairs, strict=True) if fair > 0])
        for row, fairs, waits in zip(
            series.held.tolist(), series.fair.tolist(), series.waiting.sum(axis=1), strict=True
        )
        if waits > 0
    ]
    return float(np.mean(indices)) if indices else 1.0
