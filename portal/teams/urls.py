"""Routes of the room."""

from django.urls import path

from portal.teams import api, views

app_name = "teams"
page_patterns = [path("preferences/", views.preferences, name="preferences")]
api_patterns = [
    path("me", api.MeView.as_view(), name="api-me"),
    path("teams", api.TeamListView.as_view(), name="api-team-list"),
]
urlpatterns = page_patterns
