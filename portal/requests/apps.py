"""Tells Django of this room."""

from django.apps import AppConfig


class RequestsConfig(AppConfig):
    """The room `requests`."""

    name = "portal.requests"
    label = "requests"
