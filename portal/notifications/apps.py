"""Tells Django of this room."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The room `notifications`."""

    name = "portal.notifications"
    label = "notifications"
