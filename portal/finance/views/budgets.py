"""Budgets: how much of each is used, setting one, ending one; and whether money is shown."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.finance import pictures, selectors, services
from portal.finance.forms import BudgetForm
from portal.finance.views import common
from portal.finance.views.common import confirmed
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import BILL


@require_safe
def budgets(request: HttpRequest) -> HttpResponse:
    """Every budget that holds now and I may see."""
    access, now = access_of(request), clock.now()
    hues = common.hues(now)
    money = selectors.shows_money()
    rows = [row for row in selectors.list_budgets(now=now, access=access) if money or row.in_time]
    context = {
        "rows": [
            {
                "row": row,
                "bar": pictures.of_budget(row, hues.get(row.team_id, 0)),
                "limit": selectors.show_budget(row, row.limit),
                "spent": selectors.show_budget(row, row.spent),
                "booked": selectors.show_budget(row, row.booked),
                "left": selectors.show_budget(row, row.left),
                "expected": "—" if row.in_time else selectors.show_budget(
                    row, row.spent + row.booked + row.expected
                ),
            }
            for row in rows
        ],
        "shows_money": money,
        "may_set": access.holds(BILL),
        "as_of": now,
    }  # fmt: skip
    return render(request, "finance/budgets.html", context)


@confirmed
def set_budget(request: HttpRequest) -> HttpResponse:
    """Give a team a budget."""
    now = clock.now()
    tree = teams.get_tree(now=now)
    form = BudgetForm(
        request.POST or None,
        teams=[(row.id, tree.path_name(row.id)) for row in tree.rows],
        currency=selectors.currency_at(now),
    )
    if request.method == "POST" and form.is_valid():
        try:
            services.set_budget(**form.limits(), actor_id=common.who(request), now=now)
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("The budget is set."))
            return redirect("finance:budgets")
    return render(request, "finance/set_budget.html", {"form": form})


@require_POST
def end_budget(request: HttpRequest, budget_id: int) -> HttpResponse:
    """Let the team spend without a budget again."""
    refusal = common.attempt(
        lambda: services.end_budget(
            budget_id=budget_id, actor_id=common.who(request), now=clock.now()
        )
    )
    if refusal is None:
        messages.success(request, _("The budget has ended."))
    else:
        messages.error(request, str(refusal.message))
    return redirect("finance:budgets")


@require_POST
def show_money(request: HttpRequest) -> HttpResponse:
    """Show amounts, or GPU-hours only."""
    said = request.POST.get("shows", "")
    if said not in ("yes", "no"):
        return redirect("finance:rates")
    shows = said == "yes"
    services.show_money(shows=shows, actor_id=common.who(request), now=clock.now())
    messages.success(
        request,
        _("Amounts are shown.")
        if shows
        else _("Amounts are hidden: everybody sees GPU-hours only."),
    )
    return redirect("finance:rates")
