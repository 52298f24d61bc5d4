"""Routes of the room."""

from django.urls import path

from portal.dashboards import views

app_name = "dashboards"
urlpatterns = [
    path("", views.home, name="home"),
    path("queue/", views.queue, name="queue"),
    path("queue/<int:workload_id>/", views.workload, name="workload"),
    path("queue/<int:workload_id>/snapshot/<int:tick_id>.json", views.snapshot, name="snapshot"),
    path("capacity/", views.capacity, name="capacity"),
    path("audit/", views.audit, name="audit"),
    path("style/", views.style, name="style"),
]
