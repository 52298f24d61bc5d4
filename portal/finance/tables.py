"""The list of a month's statements."""

from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from portal.common import money
from portal.common.tables import MoneyColumn, NumberColumn, Table
from portal.finance import words
from portal.finance.selectors import StatementRow
from portal.finance.selectors.statements import gpu_hours
from portal.usage.breakdown import Dimension, UsePart

_NUMBER = {"td": {"class": "n"}, "th": {"class": "n"}, "tf": {"class": "n"}}


class HoursColumn(NumberColumn):
    """Milli-GPU-seconds shown as GPU-hours, with the sum of the column below."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(attrs=_NUMBER, **kwargs)

    def render(self, value: int) -> str:
        """For people."""
        return words.hours(value) if value else "—"

    def value(self, value: int) -> Any:
        """For programs: GPU-hours, to the millionth."""
        return round(gpu_hours(value), 6)

    def render_footer(self, bound_column: Any, table: Any) -> str:
        """The sum of all rows, not of the page shown."""
        return words.hours(sum(getattr(row, bound_column.name) for row in table.data.data))


class SumColumn(MoneyColumn):
    """Money, with the sum of the column below."""

    def __init__(self, currency: str, **kwargs: Any) -> None:
        super().__init__(currency, attrs=_NUMBER, **kwargs)

    def render_footer(self, bound_column: Any, table: Any) -> str:
        """The sum of all rows, not of the page shown."""
        total = sum(getattr(row, bound_column.name) for row in table.data.data)
        return money.show(total, self.currency)


class UseTable(Table):
    """Parts of a month's GPU-time: held, and how busy what was measured was."""

    caption: Any = _("GPU-hours of the month")
    empty_title = _("No use yet")

    label = django_tables2.Column(footer=_("Together"), empty_values=())
    held = HoursColumn(verbose_name=_("Held"))
    estimated = HoursColumn(verbose_name=_("Of it estimated"))
    measured = HoursColumn(verbose_name=_("Of it measured"))
    used = HoursColumn(verbose_name=_("Of it used"))
    computed = django_tables2.Column(
        verbose_name=_("Busy"), accessor="pk", empty_values=(), orderable=False, attrs=_NUMBER
    )

    class Meta(Table.Meta):
        empty_text = _("GPU-hours appear as soon as pods have held GPUs for five minutes.")

    def __init__(self, rows: list[UsePart], by: Dimension) -> None:
        self.base_columns["label"].verbose_name = by.label
        super().__init__(rows, attrs={"class": "table cards"})
        of_teams = by in (Dimension.TEAM, Dimension.DEPARTMENT)
        self.nameless = _("Work of no team") if of_teams else _("Nobody known")

    def render_label(self, record: UsePart) -> str:
        """Its name; what has none belongs to nobody known."""
        return record.label or str(self.nameless)

    def value_label(self, record: UsePart) -> str:
        """The same for programs."""
        return record.label

    def render_computed(self, record: UsePart) -> str:
        """The part of measured time in which devices computed, in percent."""
        return words.busy(record.used, record.measured)

    def value_computed(self, record: UsePart) -> Any:
        """The same as a number; nothing where nothing was measured."""
        return round(100 * record.used / record.measured, 1) if record.measured else ""


class StatementTable(Table):
    """Statements of one month; amounts in its one currency."""

    caption: Any = _("Statements of the month")
    empty_title = _("No statements yet")

    team_path = django_tables2.Column(verbose_name=_("Team"), footer=_("Together"), empty_values=())
    guaranteed = HoursColumn(verbose_name=_("Guaranteed"))
    reserved = HoursColumn(verbose_name=_("Reserved"))
    borrowed = HoursColumn(verbose_name=_("Borrowed"))
    reserved_unused = HoursColumn(verbose_name=_("Reserved, not used"))
    state = django_tables2.Column(verbose_name=_("State"))

    class Meta(Table.Meta):
        sequence = (
            "team_path", "guaranteed", "reserved", "borrowed", "reserved_unused", "total_micro",
            "tax_micro", "state",
        )  # fmt: skip
        empty_text = _("They appear as soon as the month has begun and use has been read.")

    def __init__(
        self, rows: list[StatementRow], currency: str, hues: dict[int, int], *, with_money: bool
    ) -> None:
        columns = [
            ("total_micro", SumColumn(currency, verbose_name=_("Amount"))),
            ("tax_micro", SumColumn(currency, verbose_name=_("Tax"))),
        ]
        super().__init__(
            rows, extra_columns=columns, attrs={"class": "table cards statements"},
            exclude=() if with_money else ("total_micro", "tax_micro"),
        )  # fmt: skip
        self.hues = hues

    def render_team_path(self, record: StatementRow) -> str:
        """The team with its colour, leading to its statement."""
        name = record.team_path or record.team_name
        dot = f"dot hue-{self.hues.get(record.team_id or 0, 0) or 'none'}"
        return format_html(
            '<a href="{}"><span class="{}"></span>{}</a>{}',
            reverse("finance:statement", args=[record.id]), dot, name,
            "" if record.team_id else format_html(' <span class="soft">{}</span>', _("own part")),
        )  # fmt: skip

    def value_team_path(self, record: StatementRow) -> str:
        """The team for programs."""
        return record.team_path or record.team_name

    def render_state(self, record: StatementRow) -> str:
        """The state as a word."""
        return str(record.state.label)
