"""Policies and ticks in the admin: to read only, since both come from services."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from portal.common.admin import LookOnly
from portal.scheduling.models import Policy, Tick


@admin.register(Policy)
class PolicyAdmin(LookOnly, admin.ModelAdmin[Policy]):
    """The rules each cluster followed, newest last."""

    list_display = ("cluster", "valid_from", "created_by_id")


@admin.register(Tick)
class TickAdmin(LookOnly, admin.ModelAdmin[Tick]):
    """Each cycle, what it cost and how it ended."""

    list_display = ("id", "cluster", "at", "state", "took_ms", "waiting", "running", "message")
    list_filter = ("state", "cluster")
    exclude = ("snapshot",)
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tick]:
        """Leave the snapshots where they are."""
        return super().get_queryset(request).defer("snapshot").select_related("cluster")
