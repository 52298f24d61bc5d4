"""When waiting work will start, given that estimates of durations are what they usually are.

Durations are drawn anew a number of times: a workload's estimate times a ratio actual ÷ estimated
out of its team's own history. Each draw is planned once, with a start for everything
(conservative backfill), which is the loop of a replay without new arrivals, at a hundredth of its
cost: with ten thousand waiting, a decision an event would take hours. What arrives later, and what
is unknown, is not foreseen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from random import Random

from scheduler_core import planner
from scheduler_core.model import Snapshot, Workload

DRAWS = 9

Ratios = Mapping[str, Sequence[float]]
"""By team: actual ÷ estimated duration of its finished work, any order. "" is for all teams."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The moments by which a workload has started in half and in nine tenths of the draws.

    None where it did not start in so many: no plan, or an end that nobody knows.
    """

    p50: int | None
    p90: int | None


def forecast(
    snapshot: Snapshot, ratios: Ratios, *, draws: int = DRAWS, seed: int = 0
) -> dict[str, Outlook]:
    """Return the outlook of every waiting workload by id; the same seed gives the same."""
    draw = Random(seed)  # noqa: S311 - a forecast, no secret
    waiting = [one.id for one in snapshot.workloads if one.running is None]
    starts: dict[str, list[float]] = {name: [] for name in waiting}
    policy = replace(snapshot.policy, backfill="conservative")
    for _ in range(draws):
        drawn = tuple(_drawn(one, snapshot.now, ratios, draw) for one in snapshot.workloads)
        plan = planner.plan(replace(snapshot, policy=policy, workloads=drawn))
        found = {start.workload: snapshot.now for start in plan.starts}
        for entry in plan.waiting:
            if entry.planned_start is not None:
                found[entry.workload] = entry.planned_start
        for name in waiting:
            starts[name].append(found.get(name, inf))
    return {name: Outlook(_by(times, 50), _by(times, 90)) for name, times in starts.items()}


def _drawn(workload: Workload, now: int, ratios: Ratios, draw: Random) -> Workload:
    """Return the workload with a duration drawn; one that runs has not ended before now."""
    estimate = workload.duration_seconds
    if estimate is None:
        return workload
    known = ratios.get(workload.team) or ratios.get("") or (1.0,)
    ran = 0 if workload.running is None else now - workload.running.started_at
    possible = [ratio for ratio in known if ratio * estimate > ran]
    if not possible:
        # It has outlasted all that was ever seen; how long it will go on nobody knows.
        return replace(workload, duration_seconds=None)
    return replace(workload, duration_seconds=max(ran + 1, round(draw.choice(possible) * estimate)))


def _by(times: Sequence[float], percent: int) -> int | None:
    """Return the smallest time that so many percent of the draws do not exceed."""
    ranked = sorted(times)
    time = ranked[-(-len(ranked) * percent // 100) - 1]
    return None if time == inf else int(time)
