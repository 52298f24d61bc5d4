"""Syncs, drift, and what was asked of clusters for jobs, in the admin, to look at."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.kubernetes.models import Ask, Drift, Stop, SyncRun, SyncWrite


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


@admin.register(Stop)
class StopAdmin(LookOnly, admin.ModelAdmin[Stop]):
    """Jobs that make room for others, newest first."""

    list_display = (
        "workload", "made_for", "why", "tasks", "state", "message", "opened_at", "closed_at"
    )  # fmt: skip
    list_filter = ("state", "workload__cluster")
    list_select_related = ("workload", "made_for")


@admin.register(Ask)
class AskAdmin(LookOnly, admin.ModelAdmin[Ask]):
    """What was asked of clusters for jobs and what they answered, newest first."""

    list_display = (
        "verb", "kind", "namespace", "name", "at", "times", "last_at", "answer", "changes"
    )  # fmt: skip
    list_filter = ("verb", "kind", "workload__cluster")
