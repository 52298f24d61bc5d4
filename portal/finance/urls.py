"""Routes of the room."""

from django.urls import path

from portal.finance.api import budgets as budgets_api
from portal.finance.api import months as months_api
from portal.finance.api import rates as rates_api
from portal.finance.api import statements as statements_api
from portal.finance.api import use as use_api
from portal.finance.views import budgets, months, rates, revising, statements, use

app_name = "finance"
page_patterns = [
    path("costs/", months.costs, name="costs"),
    path("costs/use/", use.use, name="use"),
    path("costs/budgets/", budgets.budgets, name="budgets"),
    path("costs/budgets/new/", budgets.set_budget, name="set-budget"),
    path("costs/budgets/<int:budget_id>/end/", budgets.end_budget, name="end-budget"),
    path("costs/show-money/", budgets.show_money, name="show-money"),
    path("costs/rates/", rates.rates, name="rates"),
    path("costs/rates/next/", rates.set_rates, name="set-rates"),
    path("costs/months/<str:month>/close/", months.close, name="close"),
    path("costs/statements/<int:statement_id>/", statements.statement, name="statement"),
    path("costs/statements/<int:statement_id>.csv", statements.statement_csv, name="statement-csv"),
    path(
        "costs/statements/<int:statement_id>.xlsx",
        statements.statement_xlsx,
        name="statement-xlsx",
    ),
    path("costs/statements/<int:statement_id>.pdf", statements.statement_pdf, name="statement-pdf"),
    path(
        "costs/statements/<int:statement_id>.focus.csv",
        statements.statement_focus,
        name="statement-focus",
    ),
    path("costs/months/<str:month>.focus.csv", months.month_focus, name="month-focus"),
    path("costs/statements/<int:statement_id>/revise/", revising.revise, name="revise"),
    path("costs/statements/<int:statement_id>/comments/", revising.comment, name="comment"),
    path("costs/statements/<int:statement_id>/paid/", statements.paid, name="paid"),
]
api_patterns = [
    path("months", months_api.MonthListView.as_view(), name="api-month-list"),
    path("months/<str:month>/close", months_api.CloseView.as_view(), name="api-month-close"),
    path("statements", statements_api.StatementListView.as_view(), name="api-statement-list"),
    path(
        "statements/<int:statement_id>",
        statements_api.StatementDetailView.as_view(),
        name="api-statement-detail",
    ),
    path(
        "statements/<int:statement_id>.csv",
        statements_api.StatementCsvView.as_view(),
        name="api-statement-csv",
    ),
    path(
        "statements/<int:statement_id>/paid",
        statements_api.PaidView.as_view(),
        name="api-statement-paid",
    ),
    path("use/lost", use_api.LostListView.as_view(), name="api-lost-list"),
    path("use/jobs", use_api.JobCostListView.as_view(), name="api-job-cost-list"),
    path(
        "statements/<int:statement_id>.xlsx",
        statements_api.XlsxView.as_view(),
        name="api-statement-xlsx",
    ),
    path(
        "statements/<int:statement_id>.pdf",
        statements_api.PdfView.as_view(),
        name="api-statement-pdf",
    ),
    path(
        "statements/<int:statement_id>.focus.csv",
        statements_api.FocusView.as_view(),
        name="api-statement-focus",
    ),
    path("months/<str:month>.focus.csv", months_api.FocusView.as_view(), name="api-month-focus"),
    path(
        "statements/<int:statement_id>/revisions",
        statements_api.RevisionView.as_view(),
        name="api-statement-revise",
    ),
    path(
        "statements/<int:statement_id>/comments",
        statements_api.CommentListView.as_view(),
        name="api-statement-comment-list",
    ),
    path("budgets", budgets_api.BudgetListView.as_view(), name="api-budget-list"),
    path("budgets/<int:budget_id>/end", budgets_api.BudgetEndView.as_view(), name="api-budget-end"),
    path("forecast/costs", budgets_api.ForecastListView.as_view(), name="api-cost-forecast-list"),
    path("presentation", budgets_api.PresentationView.as_view(), name="api-presentation-detail"),
    path("rate-cards", rates_api.RateCardListView.as_view(), name="api-rate-card-list"),
    path("rate-cards/preview", rates_api.PreviewView.as_view(), name="api-rate-card-preview"),
    path(
        "reconciliation", months_api.ReconciliationView.as_view(), name="api-reconciliation-detail"
    ),
]
urlpatterns = page_patterns
