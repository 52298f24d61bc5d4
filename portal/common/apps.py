"""Tells Django of this room."""

from django.apps import AppConfig


class CommonConfig(AppConfig):
    """The room `common`."""

    name = "portal.common"
    label = "common"
