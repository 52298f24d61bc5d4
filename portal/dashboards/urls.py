"""Routes of the room."""

from django.urls import path

from portal.dashboards.views import pages, style

app_name = "dashboards"
urlpatterns = [
    path("", pages.home, name="home"),
    path("queue/", pages.queue, name="queue"),
    path("queue/<int:workload_id>/", pages.workload, name="workload"),
    path("queue/<int:workload_id>/snapshot/<int:tick_id>.json", pages.snapshot, name="snapshot"),
    path("capacity/", pages.capacity, name="capacity"),
    path("audit/", pages.audit, name="audit"),
    path("style/", style.style, name="style"),
]
