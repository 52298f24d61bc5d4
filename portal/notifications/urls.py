"""Routes of the room."""

from django.urls import path

from portal.notifications import api, views

app_name = "notifications"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/read/", views.read, name="read"),
    path("inbox/settings/", views.settings, name="settings"),
    path("inbox/hooks/", views.hooks, name="hooks"),
    path("inbox/hooks/<int:hook_id>/retire/", views.retire_hook, name="retire-hook"),
]
api_patterns = [
    path("notifications", api.NewsListView.as_view(), name="api-notification-list"),
    path("notifications/read", api.NewsReadView.as_view(), name="api-notification-read"),
]
