"""Tells Django of this room."""

from django.apps import AppConfig


class KubernetesConfig(AppConfig):
    """The room `kubernetes`."""

    name = "portal.kubernetes"
    label = "kubernetes"
