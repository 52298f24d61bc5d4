"""Routes of the room."""

from django.urls import path

from portal.quotas import api

app_name = "quotas"
api_patterns = [path("quotas", api.QuotaListView.as_view(), name="api-quota-list")]
