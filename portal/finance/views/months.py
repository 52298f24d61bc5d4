"""A month: what each team pays, whether it adds up, and closing it."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.common import clock, tables
from portal.common.errors import Refusal
from portal.finance import downloads, months, pictures, selectors, services, words
from portal.finance.selectors import Forecast, MonthRow, Reconciliation, StatementRow
from portal.finance.tables import StatementTable
from portal.finance.views import common
from portal.finance.views.common import confirmed
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import BILL, COST


@require_safe
def costs(request: HttpRequest) -> HttpResponseBase:
    """One month: what each team pays, where the GPU-time went, and whether it adds up."""
    access, now = access_of(request), clock.now()
    month = common.chosen_month(request, now)
    rows = [] if month.id is None else selectors.list_statements(access, month_id=month.id)
    rows = _without_empty_branches(rows)
    currency = rows[0].currency if rows else teams.get_organisation().currency
    table = StatementTable(
        rows, currency, hues=common.hues(now), with_money=selectors.shows_money()
    )

    def context() -> dict[str, Any]:
        found = selectors.get_reconciliation(instant=month.starts_at)
        money = selectors.shows_money()
        names = {row.team_id: row.team_path for row in rows}
        sees_all = access.holds(COST)
        return {
            "month": month,
            "month_title": words.month(month.starts_at, month.zone),
            "month_form": common.month_form(month),
            "total_micro": sum(row.total_micro for row in rows),
            "currency": currency,
            "rows": rows,
            "sees_all": sees_all and money,
            "shows_money": money,
            "held_hours": words.hours(sum(row.held for row in rows)),
            "forecast": [(names.get(row.team_id, ""), row) for row in _forecast(rows, month, now)]
            if money
            else [],
            "reconciliation": found,
            "verdict": words.verdict(found) if found else "",
            "summary": words.summary(found) if found else "",
            **_equation(found, with_money=sees_all and money),
            "bar": pictures.of_month(rows, found, table.hues) if found and sees_all else None,
            "tone": words.TONES[month.state],
            "may_close": access.holds(BILL) and month.is_open and month.is_over(now),
        }

    return tables.listing(
        request, table, "finance/costs.html", context, filename=f"costs-{month.name}"
    )


@require_safe
def month_focus(request: HttpRequest, month: str) -> HttpResponseBase:
    """All statements of a month in the columns of FOCUS."""
    return downloads.month_focus(month)


@confirmed
def close(request: HttpRequest, month: str) -> HttpResponse:
    """Ask before a month is closed; then close it."""
    try:
        row = selectors.get_month(instant=months.parse(month))
    except Refusal:
        raise Http404 from None
    refusal = None
    if request.method == "POST":
        refusal = common.attempt(
            lambda: services.close_month(
                month_start=row.starts_at, actor_id=common.who(request), now=clock.now()
            )
        )
        if refusal is None:
            name = words.month(row.starts_at, row.zone)
            messages.success(request, _("%(month)s is closed.") % {"month": name})
            return redirect(f"{reverse('finance:costs')}?month={row.name}")
    found = selectors.get_reconciliation(instant=row.starts_at)
    context = {
        "month": row,
        "month_title": words.month(row.starts_at, row.zone),
        "reconciliation": found,
        "verdict": words.verdict(found) if found else "",
        "sees_all": selectors.shows_money(),
        "is_over": row.is_over(clock.now()),
        "refusal": refusal,
    }
    return render(request, "finance/close.html", context, status=refusal.status if refusal else 200)


def _equation(found: Reconciliation | None, *, with_money: bool) -> dict[str, object]:
    """The two sides of a month's equation in words, over all pools and by pool."""
    if found is None:
        return {}
    return {
        "parts": [
            (word, words.hours(part) if part else "—", micro)
            for word, part, micro in words.parts(found)
            if part or with_money
        ],
        "accounted_hours": words.hours(found.accounted),
        "capacity_hours": words.hours(found.capacity),
        "pools": [
            (pool, words.hours(pool.accounted), words.hours(pool.capacity)) for pool in found.pools
        ],
    }


def _forecast(rows: list[StatementRow], month: MonthRow, now: datetime) -> list[Forecast]:
    """What the running month is expected to cost each team shown, the dearest first."""
    if not month.starts_at <= now < month.ends_at:
        return []
    spent = {row.team_id: row.total_micro for row in rows if row.team_id is not None}
    found = selectors.forecast(now=now, team_ids=list(spent), spent=spent)
    return sorted(found.values(), key=lambda row: -row.total_micro)


def _without_empty_branches(rows: list[StatementRow]) -> list[StatementRow]:
    """A department that used nothing itself is left out where teams below it are shown."""
    paths = [row.team_path for row in rows]
    return [
        row
        for row in rows
        if row.quantities
        or row.total_micro
        or not any(path.startswith(f"{row.team_path} / ") for path in paths)
    ]
