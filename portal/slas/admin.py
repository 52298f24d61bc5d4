"""Promises in the admin: to read only, since each change has its service."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.slas.models import Breach, Sla, Tier


@admin.register(Tier)
class TierAdmin(LookOnly, admin.ModelAdmin[Tier]):
    """Tiers, the strictest first."""

    list_display = ("name", "target_wait_seconds", "goal_permille", "answer_seconds", "retired_at")


@admin.register(Sla)
class SlaAdmin(LookOnly, admin.ModelAdmin[Sla]):
    """Whose they are, by time."""

    list_display = ("team", "pool", "tier", "valid_from", "valid_to")
    list_select_related = ("team", "pool", "tier")


@admin.register(Breach)
class BreachAdmin(LookOnly, admin.ModelAdmin[Breach]):
    """What came too late."""

    list_display = ("id", "kind", "team", "due_at", "ended_at", "owner", "acknowledged_at")
    list_filter = ("kind",)
    list_select_related = ("team", "owner")
