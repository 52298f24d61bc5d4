"""Routes of the room."""

from django.urls import path

from portal.quotas import api

app_name = "quotas"
api_patterns = [
    path("quotas", api.QuotaListView.as_view(), name="api-quota-list"),
    path("quotas/over-limit", api.OverLimitListView.as_view(), name="api-over-limit-list"),
    path(
        "teams/<int:team_id>/quotas/<int:pool_id>",
        api.QuotaHistoryView.as_view(),
        name="api-quota-history",
    ),
    path("quotas/<int:quota_id>/undo", api.QuotaUndoView.as_view(), name="api-quota-undo"),
]
