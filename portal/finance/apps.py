"""Tells Django of this room."""

from django.apps import AppConfig


class FinanceConfig(AppConfig):
    """The room `finance`."""

    name = "portal.finance"
    label = "finance"
