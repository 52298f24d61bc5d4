"""The two sides of a study held against each other, figure by figure and team by team."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from portal.studies import verdicts
from portal.studies.models import Outcome, Side
from portal.studies.verdicts import Compared

HOUR = 3600
Figures = Mapping[str, Any]
Prices = Mapping[str, int]
"""Pool by its engine name → micro-units for a GPU-hour."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: how it is read from an outcome or a team's part of it, and which way is good.

    `unit` is `seconds`, `count`, `percent`, `ratio`, `hours` or `money`; `is_plain`: neither way is
    better by itself.
    """

    key: str
    unit: str
    read: Callable[[Figures], float]
    lower_is_better: bool = True
    is_plain: bool = False


def _get(key: str) -> Callable[[Figures], float]:
    return lambda figures: float(figures[key])


def _hours(key: str) -> Callable[[Figures], float]:
    return lambda figures: float(figures[key]) / HOUR


WAITS = (
    Figure("wait_p50", "seconds", _get("wait_p50")),
    Figure("wait_p90", "seconds", _get("wait_p90")),
    Figure("wait_p99", "seconds", _get("wait_p99")),
)
WAITING = (
    Figure("still_waiting", "count", _get("still_waiting")),
    Figure("starved", "count", _get("starved")),
)
LOSSES = (
    Figure("preemptions", "count", _get("preemptions")),
    Figure("lost_hours", "hours", _hours("lost_gpu_seconds")),
)
WHOLE = (
    *WAITS,
    Figure("longest_wait", "seconds", _get("longest_wait")),
    *WAITING,
    Figure("held_back_pct", "percent", _get("held_back_pct")),
    Figure("allocated_pct", "percent", _get("allocated_pct"), lower_is_better=False),
    Figure("utilised_pct", "percent", _get("utilised_pct"), lower_is_better=False),
    Figure("jain", "ratio", _get("jain"), lower_is_better=False),
    *LOSSES,
)
OF_TEAM = (
    *WAITS,
    *WAITING,
    Figure("gpu_hours", "hours", _hours("gpu_seconds"), lower_is_better=False, is_plain=True),
    *LOSSES,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure on both sides."""

    figure: Figure
    compared: Compared


@dataclass(frozen=True, slots=True)
class TeamLines:
    """One team's figures on both sides, by key; `name` is the engine's."""

    name: str
    jobs: float
    lines: Mapping[str, Line]

    @property
    def is_touched(self) -> bool:
        """Whether anything of it is really different."""
        return any(line.compared.is_real for line in self.lines.values())


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that may be said of a study so far; `seeds` counts those both sides have replayed."""

    seeds: tuple[int, ...]
    lines: tuple[Line, ...]
    teams: tuple[TeamLines, ...]
    base: tuple[Figures, ...]
    changed: tuple[Figures, ...]

    @property
    def compared(self) -> int:
        """How many figures were held against each other."""
        return len(self.lines) + sum(len(team.lines) for team in self.teams)

    def line(self, key: str) -> Line:
        """The line of one figure of the whole."""
        return next(line for line in self.lines if line.figure.key == key)


def compare(
    outcomes: Iterable[Outcome], *, prices: Prices | None = None, priced: Collection[str] = ()
) -> Comparison | None:
    """Compare the seeds both sides have replayed; None before there is one.

    With `prices` the whole gets a cost, and so does each team of `priced`.
    """
    by_side: dict[str, dict[int, Figures]] = {side: {} for side in Side.values}
    for one in outcomes:
        by_side[one.side][one.seed] = one.figures
    seeds = tuple(sorted(by_side[Side.BASE].keys() & by_side[Side.CHANGED].keys()))
    if not seeds:
        return None
    base = tuple(by_side[Side.BASE][seed] for seed in seeds)
    changed = tuple(by_side[Side.CHANGED][seed] for seed in seeds)
    whole = WHOLE if prices is None else (*WHOLE, _cost(prices, of_all=True))
    names = sorted({name for figures in (*base, *changed) for name in figures["teams"]})
    return Comparison(
        seeds=seeds,
        lines=tuple(_line(figure, base, changed) for figure in whole),
        teams=tuple(
            _team(name, base, changed, prices if name in priced else None) for name in names
        ),
        base=base,
        changed=changed,
    )


def _line(figure: Figure, base: Iterable[Figures], changed: Iterable[Figures]) -> Line:
    found = verdicts.compare(
        [figure.read(one) for one in base], [figure.read(one) for one in changed],
        lower_is_better=figure.lower_is_better,
    )  # fmt: skip
    return Line(figure, found)


NOTHING: Figures = {
    "jobs": 0, "wait_p50": 0, "wait_p90": 0, "wait_p99": 0, "still_waiting": 0, "starved": 0,
    "gpu_seconds": 0, "lost_gpu_seconds": 0, "preemptions": 0, "by_pool": {},
}  # fmt: skip


def _team(
    name: str, base: tuple[Figures, ...], changed: tuple[Figures, ...], prices: Prices | None
) -> TeamLines:
    before = [figures["teams"].get(name, NOTHING) for figures in base]
    after = [figures["teams"].get(name, NOTHING) for figures in changed]
    figures = OF_TEAM if prices is None else (*OF_TEAM, _cost(prices, of_all=False))
    return TeamLines(
        name=name,
        jobs=sum(one["jobs"] for one in before) / len(before),
        lines={figure.key: _line(figure, before, after) for figure in figures},
    )


def _cost(prices: Prices, *, of_all: bool) -> Figure:
    def of_team(figures: Figures) -> float:
        held: Mapping[str, int] = figures["by_pool"]
        return sum(seconds * prices.get(pool, 0) / HOUR for pool, seconds in held.items())

    def of_whole(figures: Figures) -> float:
        return sum(of_team(team) for team in figures["teams"].values())

    return Figure("cost", "money", of_whole if of_all else of_team, is_plain=True)


def headline(found: Comparison | None) -> dict[str, Any]:
    """The one figure a list shows: the p90 wait, and how many others are really different."""
    if found is None:
        return {}
    wait = found.line("wait_p90").compared
    real = [line for line in found.lines if line.compared.is_real and not line.figure.is_plain]
    return {
        "base": wait.base, "changed": wait.changed, "verdict": wait.verdict.value,
        "better": sum(1 for line in real if line.compared.verdict is verdicts.Verdict.BETTER),
        "worse": sum(1 for line in real if line.compared.verdict is verdicts.Verdict.WORSE),
        "teams": sum(1 for team in found.teams if team.is_touched),
    }  # fmt: skip


def without_cost(found: Comparison) -> Comparison:
    """The comparison with no cost of the whole in it."""
    return replace(found, lines=tuple(one for one in found.lines if one.figure.key != "cost"))
