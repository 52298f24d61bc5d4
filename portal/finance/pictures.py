"""A month as one bar: every team's use, what stood reserved, the rest idle or out of use."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from portal.common.drawing import DASHED, FENCED, HATCHED, SOLID, Bar, Part
from portal.finance import words
from portal.finance.models import LineKind
from portal.finance.selectors import BudgetRow, Reconciliation, StatementRow, show_budget


def of_month(rows: Sequence[StatementRow], found: Reconciliation, hues: dict[int, int]) -> Bar:
    """All capacity of a month, team by team; what is left empty was idle, down or in maintenance."""
    parts: list[Part] = []
    for row in rows:
        if row.team_id is None:
            continue
        hue, name = hues.get(row.team_id, 0), row.team_name
        parts += [
            Part(SOLID, row.guaranteed, hue, _part(name, _("guaranteed"), row.guaranteed)),
            Part(FENCED, row.reserved, hue, _part(name, _("reserved"), row.reserved)),
            Part(HATCHED, row.borrowed, hue, _part(name, _("borrowed"), row.borrowed)),
            Part(
                DASHED, row.reserved_unused, hue,
                _part(name, _("reserved, not used"), row.reserved_unused),
            ),
        ]  # fmt: skip
    unowned = found.quantity(LineKind.UNOWNED)
    parts.append(Part(SOLID, unowned, 0, _part(_("No team"), _("used"), unowned)))
    return Bar(
        parts=tuple(part for part in parts if part.amount > 0),
        total=found.capacity,
        text=words.summary(found),
    )


def of_budget(row: BudgetRow, hue: int) -> Bar:
    """A budget: what is spent, what is booked, and what is left empty."""
    spent, booked = show_budget(row, row.spent), show_budget(row, row.booked)
    return Bar(
        parts=tuple(
            part
            for part in (
                Part(SOLID, row.spent, hue, _("%(amount)s spent") % {"amount": spent}),
                Part(DASHED, row.booked, hue, _("%(amount)s booked") % {"amount": booked}),
            )
            if part.amount > 0
        ),
        total=max(row.limit, row.spent + row.booked),
        text=_("%(spent)s spent and %(booked)s booked of %(limit)s") % {
            "spent": spent, "booked": booked, "limit": show_budget(row, row.limit),
        },
    )  # fmt: skip


def _part(name: str, what: str, amount: int) -> str:
    return _("%(name)s: %(hours)s GPU-hours %(what)s") % {
        "name": name, "hours": words.hours(amount), "what": what,
    }  # fmt: skip
