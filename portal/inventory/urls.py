"""Routes of the room."""

from django.urls import path

from portal.inventory import api

app_name = "inventory"
api_patterns = [
    path("pools", api.PoolListView.as_view(), name="api-pool-list"),
    path("pools/<int:pool_id>", api.PoolDetailView.as_view(), name="api-pool-detail"),
    path("pools/<int:pool_id>/calendar", api.PoolCalendarView.as_view(), name="api-pool-calendar"),
    path("nodes", api.NodeListView.as_view(), name="api-node-list"),
    path("conflicts", api.ConflictListView.as_view(), name="api-conflict-list"),
]
