"""Reservations in the admin: to read only, since each move has its service."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from portal.reservations.models import Reservation


@admin.register(Reservation)
class ReservationAdmin(admin.ModelAdmin[Reservation]):
    """The calendar as a list."""

    list_display = ("id", "team", "pool", "gpus", "source", "starts_at", "ends_at", "state")
    list_filter = ("state", "pool")
    list_select_related = ("team", "pool")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """No."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No."""
        return False
