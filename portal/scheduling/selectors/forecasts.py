"""When waiting work is thought to start, and how good such forecasts have been.

Judged is the first forecast of each wait: the one a person plans by, made when least was known. A
job that still waits past its later moment counts as late; leaving it out would flatter.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median_low
from typing import NamedTuple

from django.db.models import Max, QuerySet

from portal.inventory import selectors as inventory
from portal.scheduling.models import Forecast
from portal.teams import selectors as teams

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class OutlookRow:
    """A job starts by `p50` as likely as not, and by `p90` very likely; None is not known."""

    made_at: datetime
    p50: datetime | None
    p90: datetime | None


@dataclass(frozen=True, slots=True)
class Score:
    """How good forecasts were: of `made`, `unsaid` could not say; of `judged`, so many held.

    `judged` are those that started or are past their later moment. The error is the distance of
    the start from `p50`, either way; None where nothing is judged.
    """

    made: int = 0
    unsaid: int = 0
    judged: int = 0
    by_p50: int = 0
    by_p90: int = 0
    median_error_seconds: int | None = None

    @property
    def p50_pct(self) -> int | None:
        """How many in a hundred started by the earlier moment; 50 would be right."""
        return round(100 * self.by_p50 / self.judged) if self.judged else None

    @property
    def p90_pct(self) -> int | None:
        """How many in a hundred started by the later moment; 90 would be right."""
        return round(100 * self.by_p90 / self.judged) if self.judged else None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The forecasts of one team in one pool; None is "any pool"."""

    team_id: int
    team_name: str
    pool_id: int | None
    pool_name: str
    score: Score


class _Made(NamedTuple):
    team_id: int | None
    pool_id: int | None
    p50: datetime | None
    p90: datetime | None
    started_at: datetime | None
    grace_seconds: int


def outlooks(workload_ids: Iterable[int]) -> dict[int, OutlookRow]:
    """The newest outlook of each of these jobs that still waits."""
    newest = newest_of(Forecast.objects.filter(workload__in=list(workload_ids)))
    return {pk: OutlookRow(row.made_at, row.p50, row.p90) for pk, row in newest.items()}


def newest_of(forecasts: QuerySet[Forecast]) -> dict[int, Forecast]:
    """The newest of those that wait, by workload."""
    waiting = forecasts.filter(started_at__isnull=True).order_by()
    newest = waiting.values("workload").annotate(newest=Max("pk")).values("newest")
    return {row.workload_id: row for row in Forecast.objects.filter(pk__in=newest)}


def get_score(
    *, since: datetime, now: datetime, team_id: int | None = None, pool_id: int | None = None
) -> Score:
    """How good the forecasts made from `since` to `now` were, of a team or pool or of all."""
    return _score(_made(since, now, team_id, pool_id), now)


def list_scores(
    *, since: datetime, now: datetime, team_id: int | None = None, pool_id: int | None = None
) -> list[ScoreRow]:
    """The same for each team and pool, by their ids."""
    grouped: dict[tuple[int, int], list[_Made]] = defaultdict(list)
    for row in _made(since, now, team_id, pool_id):
        grouped[row.team_id or 0, row.pool_id or 0].append(row)
    names, pools = teams.team_names(), inventory.pool_names()
    return [
        ScoreRow(
            team_id=team, team_name=names.get(team, ""), pool_id=pool or None,
            pool_name=pools.get(pool, ""), score=_score(rows, now),
        )
        for (team, pool), rows in sorted(grouped.items())
    ]  # fmt: skip


def _made(
    since: datetime, now: datetime, team_id: int | None, pool_id: int | None
) -> Iterator[_Made]:
    rows = Forecast.objects.filter(
        first=True, made_at__gte=since, made_at__lt=now, workload__team__isnull=False
    )
    if team_id is not None:
        rows = rows.filter(workload__team_id=team_id)
    if pool_id is not None:
        rows = rows.filter(workload__pool_id=pool_id)
    columns = ("workload__team_id", "workload__pool_id", *_Made._fields[2:])
    return (_Made(*row) for row in rows.order_by("id").values_list(*columns))


def _score(rows: Iterable[_Made], now: datetime) -> Score:
    made = unsaid = by_p50 = by_p90 = 0
    errors: list[int] = []
    for row in rows:
        made += 1
        if row.p50 is None or row.p90 is None:
            unsaid += 1
            continue
        if row.started_at is None and now <= row.p90:
            continue
        grace = row.grace_seconds * SECOND
        begun = row.started_at or now
        by_p50 += row.started_at is not None and begun <= row.p50 + grace
        by_p90 += row.started_at is not None and begun <= row.p90 + grace
        errors.append(int(abs(begun - row.p50) // SECOND))
    return Score(
        made=made, unsaid=unsaid, judged=len(errors), by_p50=by_p50, by_p90=by_p90,
        median_error_seconds=median_low(errors) if errors else None,
    )  # fmt: skip
