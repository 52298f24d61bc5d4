"""Routes of the room."""

from django.urls import path

from portal.notifications import api, outbox_api, outbox_views, views, wishes_api

app_name = "notifications"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/read/", views.read, name="read"),
    path("inbox/settings/", views.settings, name="settings"),
    path("inbox/hooks/", views.hooks, name="hooks"),
    path("inbox/hooks/<int:hook_id>/retire/", views.retire_hook, name="retire-hook"),
    path("inbox/outbox/", outbox_views.outbox, name="outbox"),
    path("inbox/outbox/again/", outbox_views.try_again, name="try-again"),
]
api_patterns = [
    path("notifications", api.NewsListView.as_view(), name="api-notification-list"),
    path("outbox", outbox_api.OutboxListView.as_view(), name="api-outbox-list"),
    path("outbox/<int:message_id>/again", outbox_api.AgainView.as_view(), name="api-outbox-again"),
    path("notifications/settings", wishes_api.WishesView.as_view(), name="api-wishes-detail"),
    path("hooks", wishes_api.HookListView.as_view(), name="api-hook-list"),
    path("hooks/<int:hook_id>/retire", wishes_api.HookRetireView.as_view(), name="api-hook-retire"),
    path("notifications/read", api.NewsReadView.as_view(), name="api-notification-read"),
]
