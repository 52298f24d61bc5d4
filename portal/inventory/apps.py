"""Tells Django of this room."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """The room `inventory`."""

    name = "portal.inventory"
    label = "inventory"
