"""Pages of cost: a month, one statement, the rate cards, and what finance does to them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from portal.common import clock, csv, tables
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.finance import exports, months, pictures, selectors, services, words
from portal.finance.forms import MonthForm, RateCardForm
from portal.finance.models import StatementState
from portal.finance.selectors import (
    MonthRow,
    RateCardRow,
    RateRow,
    Reconciliation,
    StatementRow,
)
from portal.finance.tables import StatementTable
from portal.inventory import selectors as inventory
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.models import User
from portal.teams.permissions import BILL, COST

confirmed = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def costs(request: HttpRequest) -> HttpResponseBase:
    """One month: what each team pays, where the GPU-time went, and whether it adds up."""
    access, now = access_of(request), clock.now()
    month = _chosen_month(request, now)
    rows = [] if month.id is None else selectors.list_statements(access, month_id=month.id)
    rows = _without_empty_branches(rows)
    currency = rows[0].currency if rows else teams.get_organisation().currency
    table = StatementTable(rows, currency, hues=_hues(now))

    def context() -> dict[str, Any]:
        found = selectors.get_reconciliation(instant=month.starts_at)
        sees_all = access.holds(COST)
        return {
            "month": month,
            "month_title": words.month(month.starts_at, month.zone),
            "month_form": _month_form(month),
            "total_micro": sum(row.total_micro for row in rows),
            "currency": currency,
            "rows": rows,
            "sees_all": sees_all,
            "reconciliation": found,
            "verdict": words.verdict(found) if found else "",
            "summary": words.summary(found) if found else "",
            **_equation(found, with_money=sees_all),
            "bar": pictures.of_month(rows, found, table.hues) if found and sees_all else None,
            "tone": words.TONES[month.state],
            "may_close": access.holds(BILL) and month.is_open and month.is_over(now),
        }

    return tables.listing(
        request, table, "finance/costs.html", context, filename=f"costs-{month.name}"
    )


@require_safe
def statement(request: HttpRequest, statement_id: int) -> HttpResponse:
    """One statement with its lines, tax apart."""
    access = access_of(request)
    detail = selectors.get_statement(statement_id=statement_id)
    row = detail.statement
    found = selectors.get_reconciliation(instant=row.period_starts_at)
    context = {
        "statement": row,
        "month_title": words.month(row.period_starts_at, row.zone),
        "lines": [
            (line, words.line(line), words.rate(line.rate_micro, row.currency))
            for line in detail.lines
        ],
        "tone": words.TONES[row.state],
        "idle_words": words.listed(str(x.idle_rule.label) for x in detail.lines if x.idle_rule),
        "tax_words": words.listed(words.percent(x.tax_basis_points) for x in detail.lines),
        "reconciliation": found,
        "sees_all": access.holds(COST),
        "verdict": words.verdict(found) if found else "",
        "may_pay": access.holds(BILL, team_id=row.team_id) and row.state is StatementState.FINAL,
    }
    return render(request, "finance/statement.html", context)


@require_safe
def statement_csv(request: HttpRequest, statement_id: int) -> HttpResponseBase:
    """The statement as its page shows it, as CSV."""
    detail = selectors.get_statement(statement_id=statement_id)
    name = f"statement-{detail.statement.month}-{statement_id}"
    return csv.response(name, exports.for_people(detail))


@confirmed
def close(request: HttpRequest, month: str) -> HttpResponse:
    """Ask before a month is closed; then close it."""
    try:
        row = selectors.get_month(instant=months.parse(month))
    except Refusal:
        raise Http404 from None
    refusal = None
    if request.method == "POST":
        refusal = _try(
            lambda: services.close_month(
                month_start=row.starts_at, actor_id=_who(request), now=clock.now()
            )
        )
        if refusal is None:
            messages.success(request, _("%(month)s is closed.") % {"month": row.name})
            return redirect(f"{reverse('finance:costs')}?month={row.name}")
    found = selectors.get_reconciliation(instant=row.starts_at)
    context = {
        "month": row,
        "month_title": words.month(row.starts_at, row.zone),
        "reconciliation": found,
        "verdict": words.verdict(found) if found else "",
        "sees_all": True,
        "is_over": row.is_over(clock.now()),
        "refusal": refusal,
    }
    return render(request, "finance/close.html", context, status=refusal.status if refusal else 200)


@confirmed
def paid(request: HttpRequest, statement_id: int) -> HttpResponse:
    """Ask before a statement is marked paid; then mark it."""
    row = selectors.get_statement(statement_id=statement_id).statement
    refusal = None
    if request.method == "POST":
        refusal = _try(
            lambda: services.mark_paid(
                statement_id=statement_id, actor_id=_who(request), now=clock.now()
            )
        )
        if refusal is None:
            messages.success(request, _("The statement is marked paid."))
            return redirect("finance:statement", statement_id=statement_id)
    context = {
        "statement": row,
        "month_title": words.month(row.period_starts_at, row.zone),
        "refusal": refusal,
    }
    return render(request, "finance/paid.html", context, status=refusal.status if refusal else 200)


@require_safe
def rates(request: HttpRequest) -> HttpResponse:
    """Every rate card, newest first."""
    now = clock.now()
    context = {
        "cards": [
            (card, card.holds_at(now), words.percent(card.tax_basis_points), _prices(card))
            for card in selectors.list_rate_cards()
        ],
        "may_set": access_of(request).holds(BILL),
    }
    return render(request, "finance/rates.html", context)


@confirmed
def set_rates(request: HttpRequest) -> HttpResponse:
    """The next rate card."""
    now = clock.now()
    form = RateCardForm(
        request.POST or None,
        pools=inventory.list_pools(now=now),
        current=next(iter(selectors.list_rate_cards()), None),
        valid_from=selectors.get_month(instant=now).ends_at,
        currency=teams.get_organisation().currency,
    )
    if request.method == "POST" and form.is_valid():
        answer = _set_card(request, form, now)
        if answer is not None:
            return answer
    return render(request, "finance/set_rates.html", {"form": form})


def _set_card(
    request: HttpRequest, form: RateCardForm, now: datetime
) -> HttpResponseRedirect | None:
    given = form.cleaned_data
    try:
        card = services.set_rate_card(
            name=given["name"],
            currency=given["currency"].upper(),
            tax_basis_points=int(given["tax_percent"] * 100),
            idle_rule=given["idle_rule"],
            valid_from=given["valid_from"],
            rates=form.rates(),
            actor_id=_who(request),
            now=now,
        )
    except Refusal as refusal:
        add_refusal(form, refusal)
        return None
    messages.success(request, _("“%(card)s” is set.") % {"card": card.name})
    return HttpResponseRedirect(reverse("finance:rates"))


def _chosen_month(request: HttpRequest, now: datetime) -> MonthRow:
    """The month asked for; else the one under way."""
    name = request.GET.get("month", "")
    if not name:
        return selectors.get_month(instant=now)
    try:
        return selectors.get_month(instant=months.parse(name))
    except Refusal:
        return selectors.get_month(instant=now)


def _prices(card: RateCardRow) -> list[tuple[RateRow, str]]:
    """A card's rates with their price in words."""
    return [(rate, words.rate(rate.gpu_hour_micro, card.currency)) for rate in card.rates]


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


def _hues(now: datetime) -> dict[int, int]:
    """The colour of each team."""
    return {row.id: row.hue for row in teams.get_tree(now=now).rows}


def _month_form(month: MonthRow) -> MonthForm:
    known = {row.name: row for row in selectors.list_months()} | {month.name: month}
    choices = [
        (name, words.month(row.starts_at, row.zone))
        for name, row in sorted(known.items(), reverse=True)
    ]
    return MonthForm({"month": month.name}, months=choices)


def _try(act: Callable[[], object]) -> Refusal | None:
    """Do it, or say why not."""
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None


def _who(request: HttpRequest) -> int | None:
    return request.user.pk if isinstance(request.user, User) else None
