"""Quotas in the admin: to read only, since a change has to move promises with it."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from portal.quotas.models import Quota


@admin.register(Quota)
class QuotaAdmin(admin.ModelAdmin[Quota]):
    """Figures by team, pool and time."""

    list_display = ("team", "pool", "guaranteed", "limit", "weight", "valid_from", "valid_to")
    list_filter = ("pool",)
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
