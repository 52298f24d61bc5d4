"""Fairness: who had what over time, who borrows from whom, who waits, and why it is so."""

from datetime import datetime

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from portal.common import charts, clock, tables
from portal.common.charts import Chart
from portal.dashboards import fairness as saying
from portal.dashboards import words
from portal.dashboards.filters import FairnessFilter
from portal.dashboards.selectors import history, waits
from portal.dashboards.selectors.common import TeamMark
from portal.dashboards.selectors.history import History, PairRow
from portal.dashboards.selectors.waits import By, StarvedRow
from portal.dashboards.tables_over_time import FairTable
from portal.scheduling import selectors as scheduling
from portal.scheduling.selectors import QueueRow
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.selectors import Access
from portal.workloads.models import Workload

PAIRS = 12
STARVED = 8


@require_safe
def fairness(request: HttpRequest) -> HttpResponseBase:
    """Every team against its fair share, over the chosen time and pool."""
    access, now = access_of(request), clock.now()
    tree = teams.get_tree(now=now)
    form = FairnessFilter(request.GET, tree=tree)
    window = form.window(now=now, zone=timezone.get_current_timezone_name())
    chosen = form.chosen()
    pool_id = int(chosen["pool"]) if "pool" in chosen else None
    by = By(chosen.get("by") or By.TEAM)
    marks = {row.id: TeamMark(row.id, row.name, row.hue) for row in tree.rows}
    names = waits.Names({pk: mark.name for pk, mark in marks.items()}, form.pools)
    past = history.get_history(window, pool_id=pool_id)
    as_of = past.as_of or now
    pairs = history.list_pairs(past)
    jobs = waits.list_jobs(window, pool_id=pool_id)
    grouped = {
        one: waits.group_waits(one, jobs, window, now=now, names=names) for one in {by, By.TEAM}
    }
    mark = marks.get(int(chosen["team"])) if "team" in chosen else None
    over_time = _charts(past, marks, mark, as_of)
    of_waits = saying.waits_chart(grouped[by], str(by.label), as_of)
    if file := charts.download(request, [*over_time, of_waits]):
        return file
    rows = saying.rows(past, pairs, grouped[By.TEAM], marks)
    table = FairTable(rows)
    tables.arrange(request, table)
    if request.GET.get("format") == "csv":
        return tables.export(table, "fairness")
    waiting = waits.rank_waiting(jobs, now=now, tree=tree)
    context = {
        "form": form,
        "window": window,
        "by": by,
        "choices": By,
        "history": past,
        "table": table,
        "charts": over_time,
        "waits": grouped[by],
        "waits_chart": of_waits,
        "pairs": _named(pairs[:PAIRS], marks),
        "borrowed": saying.amount(sum(pair.milli for pair in pairs)),
        "waiting": len(waiting),
        "late": sum(1 for row in waiting if (row.times or 0) > 1),
        "starved": _told(waiting[:STARVED], access, now),
        "as_of": as_of,
        "now": now,
    }
    return render(request, "dashboards/fairness.html", context)


def _charts(
    past: History, marks: dict[int, TeamMark], mark: TeamMark | None, as_of: datetime
) -> list[Chart]:
    """The first is of the team that was chosen, or of all."""
    first = saying.team_chart(past, mark, as_of) if mark else saying.held_chart(past, marks, as_of)
    return [
        first,
        saying.filled_chart(past, marks, mark, as_of),
        saying.jain_chart(past, as_of),
        saying.dominant_chart(past, marks, mark, as_of),
    ]


def _named(
    pairs: list[PairRow], marks: dict[int, TeamMark]
) -> list[tuple[PairRow, TeamMark | None, TeamMark | None]]:
    return [(pair, marks.get(pair.borrower_id), marks.get(pair.lender_id or 0)) for pair in pairs]


def _told(
    starved: list[StarvedRow], access: Access, now: datetime
) -> list[tuple[StarvedRow, QueueRow, str]]:
    """Jobs as this reader may see them, in the order they starve, each with its reason."""
    ids = [row.workload_id for row in starved]
    jobs = Workload.objects.filter(pk__in=ids).select_related("team", "pool", "user", "standing")
    told = {
        row.id: row
        for row in scheduling.queue_rows(
            jobs, access, zone=timezone.get_current_timezone(), now=now, likely=False
        )
    }
    return [
        (row, told[row.workload_id], words.strong(words.why(told[row.workload_id])))
        for row in starved
        if row.workload_id in told
    ]
