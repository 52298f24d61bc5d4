"""Reservations in the admin: to read only, since each move has its service."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.reservations.models import Reservation


@admin.register(Reservation)
class ReservationAdmin(LookOnly, admin.ModelAdmin[Reservation]):
    """The calendar as a list."""

    list_display = ("id", "team", "pool", "gpus", "source", "starts_at", "ends_at", "state")
    list_filter = ("state", "pool")
    list_select_related = ("team", "pool")
