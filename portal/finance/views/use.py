"""GPU-time told apart, what was lost, and what a completed job costs."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.common import clock, tables
from portal.finance import selectors, words
from portal.finance.filters import UseFilter
from portal.finance.tables import UseTable
from portal.finance.views import common
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import COST, WORK
from portal.usage import breakdown
from portal.usage.breakdown import Dimension, Filter
from portal.usage.models import IDLE_BELOW_PERCENT


@require_safe
def use(request: HttpRequest) -> HttpResponseBase:
    """A month's GPU-time by team, pool, person or whatever is asked for."""
    access, now = access_of(request), clock.now()
    month = common.chosen_month(request, now)
    sees_work = access.holds_anywhere(WORK)
    asked = {"month": month.name, "by": Dimension.TEAM.value, **request.GET.dict()}
    form = UseFilter(asked, months=common.month_choices(month), sees_work=sees_work)
    chosen = form.chosen()
    by = Dimension(chosen.get("by", Dimension.TEAM))
    reach = access.teams(COST & breakdown.roles_for(by))
    pool_id = int(chosen["pool"]) if chosen.get("pool") else None
    to_at = min(month.ends_at, now)
    period = Filter(month.starts_at, max(to_at, month.starts_at), reach, pool_id)
    rows = breakdown.break_down(by, period)
    table = UseTable(rows, by)

    def context() -> dict[str, Any]:
        sees_all = access.teams(COST)
        lost = selectors.list_lost(from_at=period.from_at, to_at=period.to_at, team_ids=sees_all)
        jobs = selectors.list_job_costs(
            from_at=period.from_at, to_at=period.to_at, team_ids=sees_all
        )
        names = teams.team_names()
        return {
            "month": month,
            "month_title": words.month(month.starts_at, month.zone),
            "period": period,
            "form": form,
            "idle_below": IDLE_BELOW_PERCENT,
            "held": words.hours(sum(row.held for row in rows)),
            "share_measured": words.measured(rows),
            "currency": jobs.currency,
            "shows_money": selectors.shows_money(),
            "lost": [(names.get(one.team_id or 0, _("No team")), one) for one in lost],
            "jobs": [(names.get(one.team_id or 0, _("No team")), one) for one in jobs.rows],
            **common.verdict(month.starts_at, sees_all=access.holds(COST)),
            "as_of": now,
        }

    return tables.listing(request, table, "finance/use.html", context, filename=f"use-{month.name}")
