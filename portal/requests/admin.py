"""Requests in the admin: to read only, since each move has its door."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.requests.models import Request


@admin.register(Request)
class RequestAdmin(LookOnly, admin.ModelAdmin[Request]):
    """What was asked, by team and state."""

    list_display = ("id", "kind", "team", "pool", "state", "requested_by", "submitted_at")
    list_filter = ("state", "kind")
    list_select_related = ("team", "pool", "requested_by")
