"""Tells Django of this room."""

from django.apps import AppConfig


class DashboardsConfig(AppConfig):
    """The room `dashboards`."""

    name = "portal.dashboards"
    label = "dashboards"
