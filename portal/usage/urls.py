"""Routes of the room."""

from django.urls import path

from portal.usage import api, monitoring_api, views

app_name = "usage"
urlpatterns = [
    path("clusters/<int:cluster_id>/monitoring/", views.of_cluster, name="monitoring"),
]
api_patterns = [
    path("usage", api.UsageListView.as_view(), name="api-usage-list"),
    path("usage/breakdown", api.BreakdownListView.as_view(), name="api-usage-breakdown-list"),
    path("usage/measured", api.MeasuredListView.as_view(), name="api-usage-measured-list"),
    path(
        "clusters/<int:cluster_id>/monitoring",
        monitoring_api.MonitoringView.as_view(),
        name="api-monitoring-detail",
    ),
]
