"""What a team was promised and how it stands: waits against their targets, money against budgets."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.finance import selectors as finance
from portal.finance.selectors import BudgetRow
from portal.slas import targets
from portal.slas.targets import SlaRow
from portal.teams import permissions
from portal.teams.selectors import Access, Tree
from portal.workloads.models import Workload

BACK = timedelta(days=28)


@dataclass(frozen=True, slots=True)
class PromiseRow:
    """One promise: how many of the jobs that are decided started within its target."""

    tier: str
    pool_id: int | None
    target_seconds: int
    goal_permille: int
    kept: int
    decided: int

    @property
    def percent(self) -> float | None:
        """How often it was kept, rounded down to a tenth; None where nothing is decided."""
        return self.kept * 1000 // self.decided / 10 if self.decided else None

    @property
    def tone(self) -> str:
        """How it looks."""
        if not self.decided:
            return ""
        return "good" if self.kept * 1000 >= self.goal_permille * self.decided else "bad"


def list_promises(
    team_ids: Collection[int], *, tree: Tree, now: datetime
) -> dict[int, list[PromiseRow]]:
    """Each team's promises over four weeks, those of the teams above it with them: two queries.

    A job that still waits beyond its target counts as missed; one that waits within it, or ended
    within it without having started, counts neither way.
    """
    if not team_ids:
        return {}
    promised = targets.get_targets(now=now, from_at=now - BACK, tree=tree)
    if not promised.rows:
        return {}
    counts: dict[tuple[int, SlaRow], list[int]] = defaultdict(lambda: [0, 0])
    jobs = Workload.objects.filter(
        team_id__in=list(team_ids), submitted_at__gte=now - BACK, submitted_at__lt=now
    ).order_by()
    for team_id, pool_id, submitted, scheduled, ended in jobs.values_list(
        "team_id", "pool_id", "submitted_at", "scheduled_at", "ended_at"
    ):
        sla = promised.of(team_id or 0, pool_id, submitted)
        if sla is None or not sla.holds_at(now):
            continue
        count = counts[team_id or 0, sla]
        late = (scheduled or ended or now) > submitted + timedelta(seconds=sla.target_wait_seconds)
        count[0] += scheduled is not None and not late
        count[1] += scheduled is not None or late
    found: dict[int, list[PromiseRow]] = defaultdict(list)
    for (team_id, sla), (kept, decided) in sorted(counts.items(), key=lambda c: c[0][1].id):
        found[team_id].append(
            PromiseRow(
                sla.tier, sla.pool_id, sla.target_wait_seconds, sla.goal_permille, kept, decided
            )
        )
    return found


def list_team_budgets(
    access: Access, team_ids: Collection[int], *, now: datetime
) -> dict[int, list[BudgetRow]]:
    """Each team's budgets, where the reader may see its cost."""
    if not team_ids or not access.holds_anywhere(permissions.COST):
        return {}
    found: dict[int, list[BudgetRow]] = defaultdict(list)
    for row in finance.list_budgets(now=now, access=access, team_ids=team_ids):
        found[row.team_id].append(row)
    return found
