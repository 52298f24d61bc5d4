"""Tells Django of this room."""

from importlib import import_module

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """The room `teams`."""

    name = "portal.teams"
    label = "teams"

    def ready(self) -> None:
        """Listen to what the sign-in libraries do."""
        for module in ("receivers", "joining"):
            import_module(f"portal.teams.{module}")
