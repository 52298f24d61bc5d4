"""What teams had over time: the shares that ticks wrote, a sample for each step of a window.

Shares are kept tick by tick for two days and one tick an hour for 400 days (scheduling.recording),
so the first tick of each step stands for the step; a step without a tick is a gap, never a zero.
Averages are over the steps that have a sample. Team names and sums are open to the organisation.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from django.db.models import Min, Subquery
from django.db.models.functions import TruncHour

from portal.dashboards.periods import Window
from portal.scheduling import selectors as scheduling
from portal.scheduling.models import Share, Tick, TickState
from scheduler_core import metrics


class Amounts(NamedTuple):
    """One team's shares in milli-GPU, over one pool or all; `dominant` is its largest part of any."""

    guaranteed: float = 0
    reserved: float = 0
    fair: float = 0
    held: float = 0
    borrowed: float = 0
    lent: float = 0
    dominant: float = 0.0

    @property
    def own(self) -> float:
        """What it holds without what is borrowed."""
        return max(0, self.held - self.borrowed)


@dataclass(frozen=True, slots=True)
class Sample:
    """What every team had at one step; `jain` is how evenly fair shares were filled."""

    teams: Mapping[int, Amounts]
    jain: float | None


class ShareAt(NamedTuple):
    """One row a tick wrote, in milli-GPU."""

    tick_id: int
    pool_id: int
    team_id: int
    guaranteed: int
    reserved: int
    fair_share: int
    allocated: int
    borrowed: int
    lent: int
    dominant_share: float

    @property
    def amounts(self) -> Amounts:
        """Without where and when."""
        return Amounts(*self[3:])


@dataclass(frozen=True, slots=True)
class History:
    """A window with a sample, or None, for each of its steps; `as_of` is the newest tick there is."""

    window: Window
    samples: tuple[Sample | None, ...]
    as_of: datetime | None
    rows: tuple[ShareAt, ...]

    @property
    def known(self) -> list[Sample]:
        """The samples there are."""
        return [sample for sample in self.samples if sample is not None]

    @property
    def jain(self) -> float | None:
        """The mean of Jain's index."""
        found = [s.jain for s in self.known if s.jain is not None]
        return sum(found) / len(found) if found else None

    def of(self, team_id: int) -> list[Amounts | None]:
        """One team's amounts step by step; a team that had nothing in a sample has zeros."""
        return [None if s is None else s.teams.get(team_id, Amounts()) for s in self.samples]

    def means(self) -> dict[int, Amounts]:
        """Each team's averages; its dominant share is the mean of the largest at each step."""
        known = self.known
        found: dict[int, list[float]] = defaultdict(lambda: [0.0] * len(Amounts._fields))
        for sample in known:
            for team_id, amounts in sample.teams.items():
                for i, value in enumerate(amounts):
                    found[team_id][i] += value
        return {team: Amounts(*(v / len(known) for v in sums)) for team, sums in found.items()}


@dataclass(frozen=True, slots=True)
class PairRow:
    """Who borrowed of whose guarantee in a window, on average; no lender: promised to nobody."""

    lender_id: int | None
    borrower_id: int
    milli: float

    @property
    def gpus(self) -> float:
        """In GPUs."""
        return self.milli / 1000


def get_history(window: Window, *, pool_id: int | None = None) -> History:
    """Every team's shares over a window: two queries."""
    ticks = _ticks(window)
    found = Share.objects.order_by().filter(tick_id__in=[tick.id for tick in ticks])
    if pool_id is not None:
        found = found.filter(pool_id=pool_id)
    rows = tuple(ShareAt(*row) for row in found.values_list(*ShareAt._fields))
    steps: dict[int, dict[int, Amounts]] = {tick.place: {} for tick in ticks}
    place_of = {tick.id: tick.place for tick in ticks}
    for row in rows:
        at = steps[place_of[row.tick_id]]
        at[row.team_id] = _both(at.get(row.team_id), row.amounts)
    evenness = _evenness(ticks) if pool_id is None else _evenness_of_pool(steps)
    return History(
        window,
        tuple(
            Sample(steps[i], evenness.get(i)) if i in steps else None
            for i in range(len(window.places))
        ),
        max((tick.newest_at for tick in ticks), default=None),
        rows,
    )


class _Tick(NamedTuple):
    id: int
    place: int
    jain: float | None
    newest_at: datetime


def _ticks(window: Window) -> list[_Tick]:
    """The first tick of each step and cluster."""
    done = Tick.objects.filter(state=TickState.DONE).order_by()
    hours = (
        done.filter(at__gte=window.from_at, at__lt=window.to_at)
        .annotate(hour=TruncHour("at", tzinfo=UTC))
        .values("cluster_id", "hour")
    )
    rows = (
        Tick.objects.filter(pk__in=hours.annotate(first=Min("id")).values("first"))
        .annotate(newest=Subquery(done.order_by("-at").values("at")[:1]))
        .order_by("at", "id")
        .values_list("pk", "cluster_id", "at", "jain", "newest")
    )
    found: dict[tuple[int, int], _Tick] = {}
    for pk, cluster_id, at, jain, newest in rows:
        place = window.place_of(at)
        if place is not None:
            found.setdefault((cluster_id, place), _Tick(pk, place, jain, newest))
    return list(found.values())


def _both(one: Amounts | None, other: Amounts) -> Amounts:
    """What a team has on two clusters."""
    if one is None:
        return other
    sums = Amounts(*(a + b for a, b in zip(one, other, strict=True)))
    return sums._replace(dominant=max(one.dominant, other.dominant))


def _evenness(ticks: Iterable[_Tick]) -> dict[int, float]:
    """Jain's index as the ticks worked it out; of several clusters the mean."""
    found: dict[int, list[float]] = defaultdict(list)
    for tick in ticks:
        if tick.jain is not None:
            found[tick.place].append(tick.jain)
    return {place: sum(values) / len(values) for place, values in found.items()}


def _evenness_of_pool(steps: Mapping[int, Mapping[int, Amounts]]) -> dict[int, float]:
    """The same of one pool: over held ÷ fair share of the teams that have a fair share."""
    return {
        place: metrics.jain([int(1_000_000 * a.held / a.fair) for a in teams.values() if a.fair])
        for place, teams in steps.items()
    }


def list_pairs(history: History) -> list[PairRow]:
    """Who borrowed from whom, most first: each sample split as `scheduling.split_loans` says."""
    places: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for row in history.rows:
        if row.borrowed or row.lent:
            places[row.tick_id, row.pool_id].append((row.team_id, row.borrowed, row.lent))
    sums: dict[tuple[int | None, int], int] = defaultdict(int)
    for found in places.values():
        for lender, borrower, milli in _loans(found):
            sums[lender, borrower] += milli
    steps = len(history.known) or 1
    pairs = [PairRow(lender, to, milli / steps) for (lender, to), milli in sums.items()]
    return sorted(pairs, key=lambda p: (-p.milli, p.borrower_id, p.lender_id or 0))


def _loans(found: Iterable[tuple[int, int, int]]) -> list[tuple[int | None, int, int]]:
    listed = sorted(found)
    return scheduling.split_loans(
        borrowed={team: borrowed for team, borrowed, _ in listed if borrowed},
        lent={team: lent for team, _, lent in listed if lent},
    )
