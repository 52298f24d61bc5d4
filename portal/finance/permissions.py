"""Who may take the routes of this room; `teams.permissions` decides.

Cost is seen by those who hold a cost role in the team's branch; lists filter by it. Whoever bills
for the whole organisation closes months, sets rates and marks statements paid.
"""

from collections.abc import Mapping

from portal.finance import selectors
from portal.teams.permissions import (
    ANY_ROLE,
    ASK,
    BILL,
    COST,
    UNKNOWN,
    Rule,
    Unknown,
    anywhere,
    of_team,
    organisation,
)


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a statement bills; None is the organisation's own part."""
    found = selectors.find_statement(int(str(kwargs["statement_id"])))
    return UNKNOWN if found is None else found.team_id


_READ = of_team(team_of, read=COST)
_BILL = organisation(read=BILL, write=BILL)
_SAY = of_team(team_of, read=COST, write=ASK | BILL)
_PAY = of_team(team_of, read=BILL, write=BILL)

RULES: dict[str, Rule] = {
    "finance:costs": anywhere(read=COST),
    "finance:use": anywhere(read=COST),
    "finance:statement": _READ,
    "finance:statement-csv": _READ,
    "finance:statement-xlsx": _READ,
    "finance:statement-pdf": _READ,
    "finance:statement-focus": _READ,
    "finance:month-focus": organisation(read=COST),
    "finance:paid": _PAY,
    "finance:revise": _BILL,
    "finance:comment": _SAY,
    "finance:close": _BILL,
    "finance:budgets": anywhere(read=COST),
    "finance:set-budget": _BILL,
    "finance:end-budget": organisation(read=frozenset(), write=BILL),
    "finance:show-money": organisation(read=frozenset(), write=BILL),
    "finance:rates": anywhere(read=COST),
    "finance:set-rates": _BILL,
    "api-month-list": anywhere(read=COST),
    "api-month-close": _BILL,
    "api-statement-list": anywhere(read=COST),
    "api-statement-detail": _READ,
    "api-statement-csv": _READ,
    "api-statement-xlsx": _READ,
    "api-statement-pdf": _READ,
    "api-statement-focus": _READ,
    "api-month-focus": organisation(read=COST),
    "api-statement-paid": _PAY,
    "api-statement-revise": _BILL,
    "api-statement-comment-list": _SAY,
    "api-lost-list": anywhere(read=COST),
    "api-job-cost-list": anywhere(read=COST),
    "api-budget-list": Rule(anywhere().reach, read=COST, write=BILL),
    "api-budget-end": organisation(read=frozenset(), write=BILL),
    "api-cost-forecast-list": anywhere(read=COST),
    "api-presentation-detail": Rule(anywhere().reach, read=ANY_ROLE, write=BILL),
    "api-rate-card-list": Rule(anywhere().reach, read=COST, write=BILL),
    "api-rate-card-preview": organisation(read=frozenset(), write=BILL),
    "api-reconciliation-detail": organisation(read=COST),
}
