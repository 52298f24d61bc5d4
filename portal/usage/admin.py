"""The ledger in the admin, to look at: it is written by collecting and never by hand."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.usage.models import LedgerEntry


@admin.register(LedgerEntry)
class LedgerEntryAdmin(LookOnly, admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    """Rows, newest first."""

    list_display = (
        "pod_uid", "from_at", "to_at", "revision", "sign", "team", "pool", "gpu_milli",
        "charged_to", "estimated",
    )  # fmt: skip
    list_filter = ("charged_to", "pool", "team", "estimated")
    search_fields = ("pod_uid",)
    ordering = ("-id",)
    show_full_result_count = False
