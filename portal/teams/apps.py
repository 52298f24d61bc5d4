"""Tells Django of this room."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """The room `teams`."""

    name = "portal.teams"
    label = "teams"
