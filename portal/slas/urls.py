"""Routes of the room."""

from django.urls import path

from portal.slas import api

app_name = "slas"
api_patterns = [
    path("tiers", api.TierListView.as_view(), name="api-tier-list"),
    path("tiers/create", api.TierCreateView.as_view(), name="api-tier-create"),
    path("tiers/<int:tier_id>/retire", api.TierRetireView.as_view(), name="api-tier-retire"),
    path("slas", api.SlaListView.as_view(), name="api-sla-list"),
    path("slas/attainment", api.AttainmentListView.as_view(), name="api-attainment-list"),
    path("breaches", api.BreachListView.as_view(), name="api-breach-list"),
    path(
        "breaches/<int:breach_id>/acknowledge",
        api.AcknowledgeView.as_view(),
        name="api-breach-acknowledge",
    ),
]
