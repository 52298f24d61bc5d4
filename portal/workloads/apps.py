"""Tells Django of this room."""

from django.apps import AppConfig


class WorkloadsConfig(AppConfig):
    """The room `workloads`."""

    name = "portal.workloads"
    label = "workloads"
