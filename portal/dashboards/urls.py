"""Routes of the room."""

from django.urls import path

from portal.dashboards import api, audit_api
from portal.dashboards.views import fairness, pages, style, usage

app_name = "dashboards"
urlpatterns = [
    path("", pages.home, name="home"),
    path("queue/", pages.queue, name="queue"),
    path("queue/<int:workload_id>/", pages.workload, name="workload"),
    path("queue/<int:workload_id>/snapshot/<int:tick_id>.json", pages.snapshot, name="snapshot"),
    path("capacity/", pages.capacity, name="capacity"),
    path("fairness/", fairness.fairness, name="fairness"),
    path("usage/", usage.usage, name="usage"),
    path("audit/", pages.audit, name="audit"),
    path("style/", style.style, name="style"),
]
api_patterns = [
    path("audit", audit_api.AuditListView.as_view(), name="api-audit-list"),
    path("fairness", api.FairnessListView.as_view(), name="api-fairness-list"),
    path("fairness/history", api.FairnessHistoryView.as_view(), name="api-fairness-history"),
    path("fairness/pairs", api.FairnessPairsView.as_view(), name="api-fairness-pairs"),
    path("fairness/waits", api.FairnessWaitsView.as_view(), name="api-fairness-waits"),
    path("fairness/starving", api.FairnessStarvingView.as_view(), name="api-fairness-starving"),
]
