"""Tells Django of this room."""

from importlib import import_module

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """The room `teams`."""

    name = "portal.teams"
    label = "teams"

    def ready(self) -> None:
        """Listen to what the sign-in libraries do."""
        import_module("portal.teams.receivers")
