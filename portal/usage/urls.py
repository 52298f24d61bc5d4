"""Routes of the room."""

from django.urls import path

from portal.usage import api

app_name = "usage"
api_patterns = [
    path("usage", api.UsageListView.as_view(), name="api-usage-list"),
    path("usage/breakdown", api.BreakdownListView.as_view(), name="api-usage-breakdown-list"),
    path("usage/measured", api.MeasuredListView.as_view(), name="api-usage-measured-list"),
]
