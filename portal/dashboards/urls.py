"""Routes of the room."""

from django.urls import path

from portal.dashboards import views

app_name = "dashboards"
urlpatterns = [
    path("", views.home, name="home"),
]
