"""Tells Django of this room."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """The room `scheduling`."""

    name = "portal.scheduling"
    label = "scheduling"
