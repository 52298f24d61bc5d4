"""Tells Django of this room."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    """The room `usage`."""

    name = "portal.usage"
    label = "usage"
