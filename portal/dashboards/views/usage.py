"""The Usage explorer: who held what, grouped, filtered, and beside the time before."""

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from portal.common import charts, clock, tables
from portal.dashboards import using
from portal.dashboards.filters import UsageFilter
from portal.dashboards.selectors import usage as uses
from portal.dashboards.selectors.usage import By, Scope
from portal.dashboards.tables_over_time import UseTable
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.selectors import Access, Tree


@require_safe
def usage(request: HttpRequest) -> HttpResponseBase:
    """Use of the teams one may see."""
    access, now = access_of(request), clock.now()
    tree = teams.get_tree(now=now)
    as_of = now.replace(minute=0, second=0, microsecond=0)
    wanted = request.GET.get("by", "")
    by = By(wanted) if wanted in By.values else By.TEAM
    mine = teams.list_teams(access, roles=uses.roles_for(by), tree=tree)
    form = UsageFilter(request.GET, teams=mine)
    window = form.window(now=as_of, zone=timezone.get_current_timezone_name())
    chosen = form.chosen()
    scope = Scope(
        _reach(access, by, tree, chosen.get("team")),
        int(chosen["pool"]) if "pool" in chosen else None,
        chosen.get("kind", ""),
    )
    found = uses.get_use(by, window, scope, tree=tree, lines=using.SHOWN)
    hues = using.hues(by, found, tree)
    held, busy = using.held_chart(found, by, hues, as_of), using.busy_chart(found, as_of)
    if file := charts.download(request, [held, busy]):
        return file
    context = {
        "form": form,
        "window": window,
        "use": found,
        "whole": using.hours(found.whole.held),
        "average": using.average(found),
        "busy_percent": found.whole.percent_used,
        "held_chart": held,
        "busy_chart": busy,
        "as_of": as_of,
        "now": now,
    }
    table = UseTable(found.rows, by=by, hues=hues)
    return tables.listing(request, table, "dashboards/usage.html", context, filename="usage")


def _reach(access: Access, by: By, tree: Tree, team: str | None) -> frozenset[int] | None:
    """The teams whose use is shown: all one may see, or a branch of them."""
    mine = access.teams(uses.roles_for(by))
    if not team:
        return mine
    branch = tree.branch(int(team))
    return branch if mine is None else branch & mine
