"""Writes: rate cards, and a month's statements from open to paid.

Everything that changes statements first locks the month's row, so that computing and closing
cannot cross; and closing and setting rates lock the newest card, so that a rate never changes
under a closed month.
"""

from portal.finance.services.budgets import end_budget, note_alerts, set_budget
from portal.finance.services.comments import comment
from portal.finance.services.presentation import show_money
from portal.finance.services.prints import ask_print, print_due
from portal.finance.services.rate_cards import NewRate, propose, set_rate_card
from portal.finance.services.revisions import Correction, revise_statement
from portal.finance.services.statements import close_month, compute_month, compute_open, mark_paid

__all__ = [
    "Correction",
    "NewRate",
    "ask_print",
    "close_month",
    "comment",
    "compute_month",
    "compute_open",
    "end_budget",
    "mark_paid",
    "note_alerts",
    "print_due",
    "propose",
    "revise_statement",
    "set_budget",
    "set_rate_card",
    "show_money",
]
