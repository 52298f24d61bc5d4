"""Jobs and their pods in the admin, to look at: rows follow the cluster."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.workloads.models import Admission, Pod, StageEvent, Workload


class PodInline(LookOnly, admin.TabularInline):  # type: ignore[type-arg]  # not generic when it runs
    """The pods of a job."""

    model = Pod
    fields = ("name", "node", "gpu_milli", "charged_to", "scheduled_at", "closed_at", "why")


class StageInline(LookOnly, admin.TabularInline):  # type: ignore[type-arg]  # not generic when it runs
    """The stages of a job."""

    model = StageEvent
    fields = ("at", "state", "why")


class AdmissionInline(LookOnly, admin.TabularInline):  # type: ignore[type-arg]  # not generic when it runs
    """When a job was let start, and where."""

    model = Admission
    fields = ("at", "tasks", "placements", "charged_to", "ended_at", "why")


@admin.register(Workload)
class WorkloadAdmin(LookOnly, admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    """Jobs, newest first."""

    list_display = ("name", "team", "pool", "state", "tasks", "gpu_milli", "submitted_at")
    list_filter = ("state", "pool", "team", "kind")
    search_fields = ("name", "uid", "person")
    ordering = ("-id",)
    inlines = (StageInline, AdmissionInline, PodInline)
