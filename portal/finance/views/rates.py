"""Rate cards, and setting the next."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.common import clock
from portal.common.errors import Refusal
from portal.common.forms import add_refusal
from portal.finance import months, selectors, services, words
from portal.finance.forms import RateCardForm
from portal.finance.selectors import Preview, RateCardRow, RateRow
from portal.finance.views import common
from portal.finance.views.common import confirmed
from portal.inventory import selectors as inventory
from portal.teams import selectors as teams
from portal.teams.middleware import access_of
from portal.teams.permissions import BILL


@require_safe
def rates(request: HttpRequest) -> HttpResponse:
    """Every rate card, newest first."""
    now = clock.now()
    may_set, money = access_of(request).holds(BILL), selectors.shows_money()
    context = {
        "shows_money": money,
        "cards": [
            (card, card.holds_at(now), words.percent(card.tax_basis_points), _prices(card))
            for card in selectors.list_rate_cards()
            if money or may_set
        ],
        "may_set": may_set,
    }
    return render(request, "finance/rates.html", context)


@confirmed
def set_rates(request: HttpRequest) -> HttpResponse:
    """The next rate card; before it is set, what a past month would have cost at its prices."""
    now = clock.now()
    form = RateCardForm(
        request.POST or None,
        pools=inventory.list_pools(now=now),
        current=next(iter(selectors.list_rate_cards()), None),
        valid_from=selectors.get_month(instant=now).ends_at,
        currency=teams.get_organisation().currency,
        gpu_models=selectors.list_gpu_models(),
        preview_months=_months_to_compare(now),
    )
    preview = None
    if request.method == "POST" and form.is_valid():
        if "preview" in request.POST:
            preview = _preview(form, now)
        else:
            answer = _set_card(request, form, now)
            if answer is not None:
                return answer
    return render(request, "finance/set_rates.html", {"form": form, "preview": preview})


def _months_to_compare(now: datetime) -> list[tuple[str, str]]:
    """Months that have begun, the last whole one first."""
    begun = [row for row in selectors.list_months() if row.starts_at <= now]
    begun.sort(key=lambda row: (not row.is_over(now), -row.starts_at.timestamp()))
    return [(row.name, words.month(row.starts_at, row.zone)) for row in begun]


def _preview(form: RateCardForm, now: datetime) -> Preview | None:
    name = form.cleaned_data["preview_month"]
    try:
        terms = services.propose(**form.terms())
        instant = months.parse(name) if name else now
        return selectors.preview_rates(instant=instant, terms=terms, now=now)
    except Refusal as refusal:
        add_refusal(form, refusal)
        return None


def _set_card(
    request: HttpRequest, form: RateCardForm, now: datetime
) -> HttpResponseRedirect | None:
    try:
        card = services.set_rate_card(
            **form.terms(), valid_from=form.cleaned_data["valid_from"],
            actor_id=common.who(request), now=now,
        )  # fmt: skip
    except Refusal as refusal:
        add_refusal(form, refusal)
        return None
    messages.success(request, _("“%(card)s” is set.") % {"card": card.name})
    return HttpResponseRedirect(reverse("finance:rates"))


def _prices(card: RateCardRow) -> list[tuple[RateRow, str]]:
    """A card's rates with their price in words."""
    return [(rate, words.rate(rate.gpu_hour_micro, card.currency)) for rate in card.rates]
