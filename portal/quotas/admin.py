"""Quotas in the admin: to read only, since a change has to move promises with it."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.quotas.models import Quota


@admin.register(Quota)
class QuotaAdmin(LookOnly, admin.ModelAdmin[Quota]):
    """Figures by team, pool and time."""

    list_display = ("team", "pool", "guaranteed", "limit", "weight", "valid_from", "valid_to")
    list_filter = ("pool",)
    list_select_related = ("team", "pool")
