"""What was held and what waited over time, read back from the log of a replay.

Held and waiting GPU are step functions; they are looked up at evenly spaced moments, so that a
report costs the same however long the trace is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler_core.simulator.fragments import fragmented
from scheduler_core.simulator.log import NEVER, Log

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOMENTS = 500


@dataclass(frozen=True, slots=True)
class Series:
    """Teams over time: arrays of one row a moment and one column a team, in milli-GPU.

    `fair` is each team's max-min share of the cluster among what all held and asked for then. Of
    the whole cluster, `stranded` is the share that was free although as much was asked for, and
    `fragmented` the share that was free and of no use to the trace's usual work.
    """

    moments: Ints
    teams: tuple[str, ...]
    held: Ints
    waiting: Ints
    fair: Floats
    stranded: Floats
    fragmented: Floats


class History:
    """A log between its first submission and its last end."""

    def __init__(self, log: Log, first: int, last: int) -> None:
        self._log = log
        self._first = first
        self._last = last
        self._teams = tuple(sorted(set(log.teams)))
        place = {team: number for number, team in enumerate(self._teams)}
        self._team: Ints = np.array([place[team] for team in log.teams], np.int64)
        self._submitted: Ints = np.array(log.submitted, np.int64)
        finished: Ints = np.array(log.finished, np.int64)
        self._gone = np.where(finished == NEVER, last, finished)
        self._gpus: Ints = np.array(log.gpu_milli, np.int64)

    def series(self) -> Series:
        """Return the teams' figures at evenly spaced moments, each in the middle of its span."""
        edges = np.linspace(self._first, self._last, MOMENTS + 1)
        moments = ((edges[:-1] + edges[1:]) / 2).astype(np.int64)
        spells = np.array([spell[:4] for spell in self._log.spells], np.int64).reshape(-1, 4)
        job, start, end, milli = spells.T
        shape = (len(moments), len(self._teams))
        held, present = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for team in range(len(self._teams)):
            mine = self._team[job] == team
            held[:, team] = _at(moments, start[mine], end[mine], milli[mine])
            here = self._team == team
            present[:, team] = _at(
                moments, self._submitted[here], self._gone[here], self._gpus[here]
            )
        waiting = np.maximum(present - held, 0)
        free = self._log.capacity_milli - held.sum(axis=1)
        stranded = np.minimum(free, waiting.sum(axis=1)) / max(1, self._log.capacity_milli)
        fair = np.array([_max_min(row, self._log.capacity_milli) for row in present.tolist()])
        useless = fragmented(self._log, moments) / max(1, self._log.capacity_milli)
        return Series(moments, self._teams, held, waiting, fair.reshape(shape), stranded, useless)

    def contenders(self) -> Floats:
        """Return for each job the mean number of jobs in the system during its life."""
        arrivals, leavings = np.sort(self._submitted), np.sort(self._gone)
        before = _area(arrivals, self._gone) - _area(arrivals, self._submitted)
        after = _area(leavings, self._gone) - _area(leavings, self._submitted)
        return (before - after) / np.maximum(1, self._gone - self._submitted)


def _at(moments: Ints, starts: Ints, ends: Ints, amounts: Ints) -> Ints:
    """Return the sum of the amounts whose [start, end) holds each moment."""
    return _sum_until(moments, starts, amounts) - _sum_until(moments, ends, amounts)


def _sum_until(moments: Ints, times: Ints, amounts: Ints) -> Ints:
    order = np.argsort(times, kind="stable")
    sums = np.concatenate([[0], np.cumsum(amounts[order])])
    until: Ints = sums[np.searchsorted(times[order], moments, side="right")]
    return until


def _area(steps: Ints, moments: Ints) -> Floats:
    """Return ∫ (number of steps passed) up to each moment; `steps` is sorted."""
    passed = np.searchsorted(steps, moments, side="right")
    sums = np.concatenate([[0], np.cumsum(steps)])
    area: Floats = (passed * moments - sums[passed]).astype(np.float64)
    return area


def _max_min(asks: list[int], total: int) -> list[float]:
    """Return the max-min fair shares of `total` among equal claimants that ask so much."""
    shares = [0.0] * len(asks)
    left = float(total)
    order = sorted(range(len(asks)), key=asks.__getitem__)
    for place, claimant in enumerate(order):
        shares[claimant] = min(asks[claimant], left / (len(order) - place))
        left -= shares[claimant]
    return shares
