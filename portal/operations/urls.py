"""Routes of the room, without a namespace: their names are known to orchestrators."""

from django.urls import path

from portal.operations import api, person_views, views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics_page, name="metrics"),
    path("people/<int:user_id>/forget/", person_views.forget, name="person-forget"),
    path("people/<int:user_id>/export/", person_views.export, name="person-export"),
    path("reference/", views.reference, name="reference"),
    path("reference/<slug:room>/", views.reference_room, name="reference-room"),
]
api_patterns = [
    path("openapi.json", api.OpenApiJsonView.as_view(), name="api-openapi-json"),
    path("openapi.yaml", api.OpenApiYamlView.as_view(), name="api-openapi-yaml"),
]
