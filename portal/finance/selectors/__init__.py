"""Reads of money: frozen answers, never querysets.

`statements` lists months and statements, `reconciliation` says whether a month adds up,
`prices` lists rate cards and says what something would cost.
"""

from portal.finance.selectors.bills import Bill, list_month_to_date
from portal.finance.selectors.budgets import BudgetRow, check_budget, list_budgets
from portal.finance.selectors.budgets import show as show_budget
from portal.finance.selectors.forecasts import Forecast, forecast
from portal.finance.selectors.jobs import JobCost, JobCosts, list_job_costs
from portal.finance.selectors.presentation import issuer, shows_money
from portal.finance.selectors.previews import Preview, PreviewRow, preview_rates
from portal.finance.selectors.prices import (
    Estimate,
    RateCardRow,
    RateRow,
    currency_at,
    estimate,
    get_card_at,
    list_gpu_models,
    list_rate_cards,
)
from portal.finance.selectors.reconciliation import (
    PoolReconciliation,
    Reconciliation,
    get_reconciliation,
    reconcile,
)
from portal.finance.selectors.statements import (
    CommentRow,
    LineRow,
    MonthRow,
    PagedStatements,
    StatementDetail,
    StatementRow,
    find_statement,
    get_month,
    get_statement,
    list_months,
    list_statements,
)
from portal.finance.selectors.waste import Cause, Lost, list_lost

__all__ = [
    "Bill",
    "BudgetRow",
    "Cause",
    "CommentRow",
    "Estimate",
    "Forecast",
    "JobCost",
    "JobCosts",
    "LineRow",
    "Lost",
    "MonthRow",
    "PagedStatements",
    "PoolReconciliation",
    "Preview",
    "PreviewRow",
    "RateCardRow",
    "RateRow",
    "Reconciliation",
    "StatementDetail",
    "StatementRow",
    "check_budget",
    "currency_at",
    "estimate",
    "find_statement",
    "forecast",
    "get_card_at",
    "get_month",
    "get_reconciliation",
    "get_statement",
    "issuer",
    "list_budgets",
    "list_gpu_models",
    "list_job_costs",
    "list_lost",
    "list_month_to_date",
    "list_months",
    "list_rate_cards",
    "list_statements",
    "preview_rates",
    "reconcile",
    "show_budget",
    "shows_money",
]
