"""Tells Django of this room."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """The room `studies`."""

    name = "portal.studies"
    label = "studies"
