"""How long each team's jobs wait, those that still wait included."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.teams import selectors as teams
from portal.workloads.models import Workload, WorkloadState


@dataclass(frozen=True, slots=True)
class WaitRow:
    """Waits of the jobs a team submitted in a period, in seconds, by nearest rank."""

    team_id: int
    team_name: str
    jobs: int
    still_waiting: int
    p50_seconds: int
    p90_seconds: int


def list_waits(*, since: datetime, now: datetime, pool_id: int | None = None) -> list[WaitRow]:
    """Waits per team of what was submitted from `since` to `now`, by team id.

    A job that still waits counts with its wait so far: leaving it out would make a stuck queue
    look fast. One that ended without ever starting counts until it ended.
    """
    jobs = Workload.objects.filter(
        submitted_at__gte=since, submitted_at__lt=now, team__isnull=False
    )
    if pool_id is not None:
        jobs = jobs.filter(pool_id=pool_id)
    waits: dict[int, list[int]] = defaultdict(list)
    still: dict[int, int] = defaultdict(int)
    columns = ("team_id", "state", "submitted_at", "scheduled_at", "ended_at")
    for team_id, state, submitted, scheduled, ended in jobs.values_list(*columns):
        if team_id is None:
            continue
        until = scheduled or ended or now
        waits[team_id].append(max(0, (until - submitted) // timedelta(seconds=1)))
        still[team_id] += scheduled is None and state == WorkloadState.WAITING
    names = teams.team_names()
    return [
        WaitRow(
            team_id=team_id, team_name=names.get(team_id, ""), jobs=len(found),
            still_waiting=still[team_id], p50_seconds=nearest_rank(found, 50),
            p90_seconds=nearest_rank(found, 90),
        )
        for team_id, found in sorted(waits.items())
    ]  # fmt: skip


def nearest_rank(values: list[int], percent: int) -> int:
    """The least value that so many percent do not pass."""
    return sorted(values)[-(-percent * len(values) // 100) - 1]
