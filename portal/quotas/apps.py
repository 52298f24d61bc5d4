"""Tells Django of this room."""

from django.apps import AppConfig


class QuotasConfig(AppConfig):
    """The room `quotas`."""

    name = "portal.quotas"
    label = "quotas"
