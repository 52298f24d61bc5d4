"""Tells Django of this room."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The room `operations`."""

    name = "portal.operations"
    label = "operations"
