"""Rate cards, months and statements in the admin: to read only, since each change has its door."""

from django.contrib import admin

from portal.common.admin import LookOnly
from portal.finance.models import Month, Rate, RateCard, Statement, StatementLine


class RateInline(LookOnly, admin.TabularInline[Rate, RateCard]):
    """The rates of a card."""

    model = Rate


class LineInline(LookOnly, admin.TabularInline[StatementLine, Statement]):
    """The lines of a statement."""

    model = StatementLine


@admin.register(RateCard)
class RateCardAdmin(LookOnly, admin.ModelAdmin[RateCard]):
    """Cards, newest first."""

    list_display = ("name", "currency", "valid_from", "valid_to")
    ordering = ("-valid_from",)
    inlines = (RateInline,)


@admin.register(Month)
class MonthAdmin(LookOnly, admin.ModelAdmin[Month]):
    """Months and who closed them."""

    list_display = ("name", "state", "computed_at", "closed_at", "closed_by_id")


@admin.register(Statement)
class StatementAdmin(LookOnly, admin.ModelAdmin[Statement]):
    """Statements with their lines."""

    list_display = ("team_path", "month", "revision", "state", "total_micro", "tax_micro")
    list_filter = ("month", "state")
    inlines = (LineInline,)
