"""Routes of the room. Workloads are read here: what they are told comes from ticks."""

from django.urls import path

from portal.scheduling import api, policy_api, views

app_name = "scheduling"
api_patterns = [
    path("workloads", api.WorkloadListView.as_view(), name="api-workload-list"),
    path(
        "workloads/<int:workload_id>", api.WorkloadDetailView.as_view(), name="api-workload-detail"
    ),
    path(
        "workloads/<int:workload_id>/decisions",
        api.WorkloadDecisionsView.as_view(),
        name="api-workload-decisions",
    ),
    path("ticks", api.TickListView.as_view(), name="api-tick-list"),
    path("ticks/<int:tick_id>", api.TickDetailView.as_view(), name="api-tick-detail"),
    path("ticks/<int:tick_id>/snapshot", api.TickSnapshotView.as_view(), name="api-tick-snapshot"),
    path("shares", api.ShareListView.as_view(), name="api-share-list"),
    path("loans", api.LoanListView.as_view(), name="api-loan-list"),
    path("forecasts", api.ForecastListView.as_view(), name="api-forecast-list"),
    path("waits", api.WaitListView.as_view(), name="api-wait-list"),
    path("clusters/<int:cluster_id>/policy", api.PolicyView.as_view(), name="api-policy-detail"),
    path(
        "clusters/<int:cluster_id>/policy/dry-run",
        policy_api.DryRunView.as_view(),
        name="api-policy-dry-run",
    ),
    path(
        "clusters/<int:cluster_id>/policy/history",
        policy_api.HistoryView.as_view(),
        name="api-policy-history",
    ),
    path(
        "clusters/<int:cluster_id>/policy/undo",
        policy_api.UndoView.as_view(),
        name="api-policy-undo",
    ),
]
page_patterns = [
    path("policy/", views.policy, name="policy"),
    path("policy/<int:cluster_id>/edit/", views.edit, name="edit-policy"),
    path("policy/<int:cluster_id>/undo/", views.undo, name="undo-policy"),
]
urlpatterns = page_patterns
