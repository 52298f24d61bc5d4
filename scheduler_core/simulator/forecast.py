"""When waiting work will start, given that estimates of durations are what they usually are.

Durations are drawn anew a number of times: a workload's estimate times a ratio actual ÷ estimated
out of its team's own history. Each draw is planned once, with a start for everything
(conservative backfill), which is the loop of a replay without new arrivals, at a hundredth of its
cost: with ten thousand waiting, a decision an event would take hours. What arrives later, and what
is unknown, is not foreseen.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from random import Random

from scheduler_core import planner
from scheduler_core.model import Snapshot, Workload

DRAWS = 9

Ratios = Mapping[str, Sequence[float]]
"""By team: actual ÷ estimated duration of its finished work, any order. "" is for all teams."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """Work whose estimate is the caller's guess, not its owner's word, and what guesses were worth.

    A guess (such as nine tenths of a team's durations) errs otherwise than an owner does.
    """

    workloads: frozenset[str] = frozenset()
    ratios: Ratios = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The moments by which a workload has started in half and in nine tenths of the draws.

    None where it did not start in so many: no plan, or an end that nobody knows.
    """

    p50: int | None
    p90: int | None


NO_GUESSES = Guesses()


def forecast(
    snapshot: Snapshot,
    ratios: Ratios,
    *,
    guesses: Guesses = NO_GUESSES,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Outlook]:
    """Return the outlook of every waiting workload by id; the same seed gives the same."""
    draw = Random(seed)  # noqa: S311 - a forecast, no secret
    said, guessed = _Worth(ratios), _Worth(guesses.ratios)
    worth = {one.id: guessed if one.id in guesses.workloads else said for one in snapshot.workloads}
    waiting = [one.id for one in snapshot.workloads if one.running is None]
    starts: dict[str, list[float]] = {name: [] for name in waiting}
    policy = replace(snapshot.policy, backfill="conservative")
    for _ in range(draws):
        drawn = tuple(_drawn(one, snapshot.now, worth[one.id], draw) for one in snapshot.workloads)
        plan = planner.plan(replace(snapshot, policy=policy, workloads=drawn))
        found = {start.workload: snapshot.now for start in plan.starts}
        for entry in plan.waiting:
            if entry.planned_start is not None:
                found[entry.workload] = entry.planned_start
        for name in waiting:
            starts[name].append(found.get(name, inf))
    return {name: Outlook(_by(times, 50), _by(times, 90)) for name, times in starts.items()}


class _Worth:
    """What estimates of each team were worth, in order, so that a draw costs no walk."""

    def __init__(self, ratios: Ratios) -> None:
        self._sorted = {team: sorted(known) for team, known in ratios.items() if known}
        self._all = self._sorted.get("", [1.0])

    def draw(self, team: str, above: float, draw: Random) -> float | None:
        """Return a ratio of the team above the given one; None when none was ever seen."""
        known = self._sorted.get(team, self._all)
        first = bisect_right(known, above)
        return None if first == len(known) else known[draw.randrange(first, len(known))]


def _drawn(workload: Workload, now: int, worth: _Worth, draw: Random) -> Workload:
    """Return the workload with a duration drawn; one that runs has not ended before now."""
    estimate = workload.duration_seconds
    if not estimate:
        return workload
    ran = 0 if workload.running is None else now - workload.running.started_at
    ratio = worth.draw(workload.team, ran / estimate, draw)
    if ratio is None:
        # It has outlasted all that was ever seen; how long it will go on nobody knows.
        return replace(workload, duration_seconds=None)
    return replace(workload, duration_seconds=max(ran + 1, round(ratio * estimate)))


def _by(times: Sequence[float], percent: int) -> int | None:
    """Return the smallest time that so many percent of the draws do not exceed."""
    ranked = sorted(times)
    time = ranked[-(-len(ranked) * percent // 100) - 1]
    return None if time == inf else int(time)
