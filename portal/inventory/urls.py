"""Routes of the room."""

from django.urls import path

from portal.inventory import api

app_name = "inventory"
api_patterns = [
    path("pools", api.PoolListView.as_view(), name="api-pool-list"),
    path("pools/<int:pool_id>", api.PoolDetailView.as_view(), name="api-pool-detail"),
    path("pools/<int:pool_id>/calendar", api.PoolCalendarView.as_view(), name="api-pool-calendar"),
    path("nodes", api.NodeListView.as_view(), name="api-node-list"),
    path("maintenance", api.MaintenanceListView.as_view(), name="api-maintenance-list"),
    path("maintenance/plan", api.MaintenancePlanView.as_view(), name="api-maintenance-plan"),
    path(
        "maintenance/<int:window_id>/cancel",
        api.MaintenanceCancelView.as_view(),
        name="api-maintenance-cancel",
    ),
    path("conflicts", api.ConflictListView.as_view(), name="api-conflict-list"),
]
