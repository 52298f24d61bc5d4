"""Syncs and drift in the admin, to look at."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.kubernetes.models import Drift, SyncRun, SyncWrite


class WriteInline(LookOnly, admin.TabularInline[SyncWrite, SyncRun]):
    """The fields a sync changed."""

    model = SyncWrite
    fields = ("kind", "namespace", "name", "field", "was", "now")


@admin.register(SyncRun)
class SyncRunAdmin(LookOnly, admin.ModelAdmin[SyncRun]):
    """Syncs, newest first."""

    list_display = ("id", "cluster", "at", "state", "writes", "took_ms", "message")
    list_filter = ("state", "cluster")
    inlines = (WriteInline,)


@admin.register(Drift)
class DriftAdmin(LookOnly, admin.ModelAdmin[Drift]):
    """Fields that are not as wanted, newest first."""

    list_display = (
        "kind", "namespace", "name", "field", "wanted", "found", "manager", "opened_at", "closed_at"
    )  # fmt: skip
    list_filter = ("cluster", "kind")
