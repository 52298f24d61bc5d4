"""Rate cards, months and statements in the admin: to read only, since each change has its door."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from portal.finance.models import Month, Rate, RateCard, Statement, StatementLine


class _ReadOnly:
    """Nobody adds, changes or deletes here."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """No."""
        return False


class RateInline(_ReadOnly, admin.TabularInline[Rate, RateCard]):
    """The rates of a card."""

    model = Rate


class LineInline(_ReadOnly, admin.TabularInline[StatementLine, Statement]):
    """The lines of a statement."""

    model = StatementLine


@admin.register(RateCard)
class RateCardAdmin(_ReadOnly, admin.ModelAdmin[RateCard]):
    """Cards, newest first."""

    list_display = ("name", "currency", "valid_from", "valid_to")
    ordering = ("-valid_from",)
    inlines = (RateInline,)


@admin.register(Month)
class MonthAdmin(_ReadOnly, admin.ModelAdmin[Month]):
    """Months and who closed them."""

    list_display = ("name", "state", "computed_at", "closed_at", "closed_by_id")


@admin.register(Statement)
class StatementAdmin(_ReadOnly, admin.ModelAdmin[Statement]):
    """Statements with their lines."""

    list_display = ("team_path", "month", "revision", "state", "total_micro", "tax_micro")
    list_filter = ("month", "state")
    inlines = (LineInline,)
