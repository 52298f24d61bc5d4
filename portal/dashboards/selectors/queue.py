"""The Queue page: whose work is open, in what order, and who stands ahead."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, F, QuerySet, Sum

from portal.dashboards.selectors import common
from portal.dashboards.selectors.common import TeamMark
from portal.scheduling import selectors as scheduling
from portal.scheduling.models import Standing
from portal.teams.selectors import Access
from portal.workloads.models import OPEN_STATES, Workload, WorkloadState

WAITING = "waiting"
TABS: dict[str, tuple[WorkloadState, ...]] = {
    WAITING: (WorkloadState.WAITING,),
    "running": tuple(state for state in OPEN_STATES if state != WorkloadState.WAITING),
    "ended": tuple(state for state in WorkloadState if state not in OPEN_STATES),
}
"""What the page shows, by the word in its address."""


@dataclass(frozen=True, slots=True)
class AheadRow:
    """A team with jobs ahead of mine."""

    team: TeamMark | None
    jobs: int


@dataclass(frozen=True, slots=True)
class WaitingTeam:
    """How much of a team waits; open to the organisation."""

    team: TeamMark | None
    jobs: int
    gpu_milli: int


def list_jobs(access: Access, *, chosen: Mapping[str, Any]) -> QuerySet[Workload]:
    """Jobs as the page's filters ask: those that wait in queue order, others newest first."""
    tab = chosen.get("state") or WAITING
    return _jobs(
        access,
        chosen,
        states=TABS.get(tab) or (WorkloadState(tab),),
        sort="position" if tab == WAITING else "-submitted_at",
    )


def count_tabs(access: Access, *, chosen: Mapping[str, Any]) -> dict[str, int]:
    """How many jobs each tab would show under the same filters."""
    rows = _jobs(access, chosen, states=tuple(WorkloadState), sort="position")
    counted = dict(rows.order_by().values_list("state").annotate(n=Count("id")))
    return {tab: sum(counted.get(s, 0) for s in states) for tab, states in TABS.items()}


def _jobs(
    access: Access, chosen: Mapping[str, Any], *, states: Sequence[WorkloadState], sort: str
) -> QuerySet[Workload]:
    team, pool = chosen.get("team"), chosen.get("pool")
    return scheduling.list_queue(
        access,
        team_ids=[int(team)] if team else None,
        pool_id=int(pool) if pool else None,
        states=states,
        kind=chosen.get("kind", ""),
        q=chosen.get("search", ""),
        sort=sort,
    )


class Ahead:
    """Who stands ahead of a position, by team; read once for a page, asked for each row."""

    @cached_property
    def _positions(self) -> dict[tuple[int, int | None], list[int]]:
        found: dict[tuple[int, int | None], list[int]] = defaultdict(list)
        rows = Standing.objects.filter(position__isnull=False).order_by("position")
        for cluster, team, position in rows.values_list(
            "workload__cluster_id", "workload__team_id", "position"
        ):
            if position is not None:
                found[cluster, team].append(position)
        return found

    def of(self, cluster_id: int, position: int | None) -> list[AheadRow]:
        """Teams with jobs ahead, most first."""
        if position is None:
            return []
        counts: Counter[int | None] = Counter()
        marks = common.team_marks()
        for (cluster, team), positions in self._positions.items():
            if cluster == cluster_id:
                counts[team] += bisect_left(positions, position)
        return [AheadRow(marks.get(team or 0), jobs) for team, jobs in counts.most_common() if jobs]


def list_ahead(*, cluster_id: int, position: int | None) -> list[AheadRow]:
    """The same of one position: one query that counts."""
    if position is None:
        return []
    marks = common.team_marks()
    ahead = Standing.objects.filter(position__lt=position, workload__cluster_id=cluster_id)
    counts = ahead.order_by().values_list("workload__team_id").annotate(jobs=Count("pk"))
    return [
        AheadRow(marks.get(team or 0), jobs)
        for team, jobs in sorted(counts, key=lambda row: (-row[1], row[0] or 0))
    ]


def list_waiting_teams() -> list[WaitingTeam]:
    """All that waits, by team: names and sums are open to the organisation."""
    marks = common.team_marks()
    rows = (
        Workload.objects.filter(state=WorkloadState.WAITING)
        .order_by()
        .values_list("team_id")
        .annotate(jobs=Count("id"), milli=Sum(F("tasks") * F("gpu_milli")))
    )
    found = [WaitingTeam(marks.get(team or 0), jobs, milli) for team, jobs, milli in rows]
    return sorted(found, key=lambda row: -row.gpu_milli)
