"""Tells Django of this room."""

from django.apps import AppConfig


class SlasConfig(AppConfig):
    """The room `slas`."""

    name = "portal.slas"
    label = "slas"
