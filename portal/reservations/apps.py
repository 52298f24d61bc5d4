"""Tells Django of this room."""

from django.apps import AppConfig


class ReservationsConfig(AppConfig):
    """The room `reservations`."""

    name = "portal.reservations"
    label = "reservations"
