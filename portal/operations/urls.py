"""Routes of the room, without a namespace: their names are known to orchestrators."""

from django.urls import path

from portal.operations import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics_page, name="metrics"),
]
