"""Routes of the room."""

from django.urls import path

from portal.finance import api, views

app_name = "finance"
page_patterns = [
    path("costs/", views.costs, name="costs"),
    path("costs/rates/", views.rates, name="rates"),
    path("costs/rates/next/", views.set_rates, name="set-rates"),
    path("costs/months/<str:month>/close/", views.close, name="close"),
    path("costs/statements/<int:statement_id>/", views.statement, name="statement"),
    path("costs/statements/<int:statement_id>.csv", views.statement_csv, name="statement-csv"),
    path("costs/statements/<int:statement_id>/paid/", views.paid, name="paid"),
]
api_patterns = [
    path("months", api.MonthListView.as_view(), name="api-month-list"),
    path("months/<str:month>/close", api.CloseView.as_view(), name="api-month-close"),
    path("statements", api.StatementListView.as_view(), name="api-statement-list"),
    path(
        "statements/<int:statement_id>",
        api.StatementDetailView.as_view(),
        name="api-statement-detail",
    ),
    path(
        "statements/<int:statement_id>.csv",
        api.StatementCsvView.as_view(),
        name="api-statement-csv",
    ),
    path("statements/<int:statement_id>/paid", api.PaidView.as_view(), name="api-statement-paid"),
    path("rate-cards", api.RateCardListView.as_view(), name="api-rate-card-list"),
    path("reconciliation", api.ReconciliationView.as_view(), name="api-reconciliation-detail"),
]
urlpatterns = page_patterns
