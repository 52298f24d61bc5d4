"""What several pages of the room need."""

from collections.abc import Callable
from datetime import datetime

from django.http import HttpRequest
from django.views.decorators.http import require_http_methods

from portal.common.errors import Refusal
from portal.finance import months, selectors, words
from portal.finance.forms import MonthForm
from portal.finance.selectors import MonthRow
from portal.teams import selectors as teams
from portal.teams.models import User

confirmed = require_http_methods(["GET", "HEAD", "POST"])


def chosen_month(request: HttpRequest, now: datetime) -> MonthRow:
    """The month asked for; else the one under way."""
    name = request.GET.get("month", "")
    if not name:
        return selectors.get_month(instant=now)
    try:
        return selectors.get_month(instant=months.parse(name))
    except Refusal:
        return selectors.get_month(instant=now)


def month_choices(month: MonthRow) -> list[tuple[str, str]]:
    """Every month there is, and this one, newest first."""
    known = {row.name: row for row in selectors.list_months()} | {month.name: month}
    return [
        (name, words.month(row.starts_at, row.zone))
        for name, row in sorted(known.items(), reverse=True)
    ]


def month_form(month: MonthRow) -> MonthForm:
    """Which month is shown, among all there are."""
    return MonthForm({"month": month.name}, months=month_choices(month))


def verdict(instant: datetime, *, sees_all: bool = True) -> dict[str, object]:
    """Whether the month of an instant adds up, for the line every page of the bill shows."""
    found = selectors.get_reconciliation(instant=instant)
    return {
        "reconciliation": found,
        "verdict": words.verdict(found) if found else "",
        "sees_all": sees_all and selectors.shows_money(),
    }


def hues(now: datetime) -> dict[int, int]:
    """The colour of each team."""
    return {row.id: row.hue for row in teams.get_tree(now=now).rows}


def attempt(act: Callable[[], object]) -> Refusal | None:
    """Do it, or say why not."""
    try:
        act()
    except Refusal as refusal:
        return refusal
    return None


def who(request: HttpRequest) -> int | None:
    """Who asks."""
    return request.user.pk if isinstance(request.user, User) else None
