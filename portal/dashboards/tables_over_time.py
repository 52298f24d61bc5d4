"""The tables of the Fairness and Usage pages."""

from collections.abc import Mapping
from typing import Any

import django_tables2
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from portal.common import drawing, formats, tables
from portal.dashboards import fairness, using
from portal.dashboards.fairness import FairRow
from portal.dashboards.selectors.usage import By, Key, UseRow
from portal.dashboards.tables import team_dot


class AverageColumn(tables.NumberColumn):
    """Milli-GPU on average."""

    def render(self, value: float) -> str:
        """One decimal."""
        return fairness.amount(value)

    def value(self, value: float) -> float:
        """For programs: GPUs."""
        return round(value / 1000, 3)


class WaitColumn(tables.NumberColumn):
    """A quantile of waits."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(attrs={"td": {"class": "n nowrap"}, "th": {"class": "n"}}, **kwargs)

    def render(self, value: Any) -> str:
        """In words."""
        said: str = value.words
        return said

    def value(self, value: Any) -> int:
        """For programs: seconds, at least."""
        seconds: int = value.seconds
        return seconds


class FairTable(tables.Table):
    """Every team against its fair share."""

    caption = gettext_lazy("Every team against its fair share, on average over the time")
    empty_title = gettext_lazy("Nothing was shared in this time")

    team = django_tables2.Column(
        gettext_lazy("Team"), accessor="team", order_by="team__name",
        attrs={"td": {"class": "bare"}},
    )  # fmt: skip
    bar = django_tables2.Column(
        gettext_lazy("Own, borrowed, lent"), orderable=False, attrs={"td": {"class": "shape bare"}}
    )
    guaranteed = AverageColumn(accessor="mean__guaranteed", verbose_name=gettext_lazy("Guaranteed"))
    fair = AverageColumn(accessor="mean__fair", verbose_name=gettext_lazy("Fair share"))
    held = AverageColumn(accessor="mean__held", verbose_name=gettext_lazy("Held"))
    borrowed = AverageColumn(
        accessor="mean__borrowed", verbose_name=gettext_lazy("Borrowed"), visible=False
    )
    lent = AverageColumn(accessor="mean__lent", verbose_name=gettext_lazy("Lent"), visible=False)
    dominant = tables.NumberColumn(
        accessor="mean__dominant", verbose_name=gettext_lazy("Dominant share")
    )
    p50 = WaitColumn(accessor="waits__p50", verbose_name=gettext_lazy("Wait p50"))
    p90 = WaitColumn(accessor="waits__p90", verbose_name=gettext_lazy("p90"))
    p99 = WaitColumn(accessor="waits__p99", verbose_name=gettext_lazy("p99"))
    sentence = django_tables2.Column(gettext_lazy("In a sentence"), visible=False)

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards fair"}
        empty_text = gettext_lazy("Choose a longer time, or another pool.")

    def render_team(self, value: Any) -> SafeString:
        """The team; its shares over time behind it."""
        return format_html(
            '<a class="quiet-link" href="{}?team={}">{}</a>',
            reverse("dashboards:fairness"), value.id, team_dot(value),
        )  # fmt: skip

    def value_team(self, value: Any) -> str:
        """Its name."""
        return str(value.name)

    def render_bar(self, record: FairRow) -> SafeString:
        """The bar in the one grammar, and the sentence that explains it."""
        return format_html(
            '{}<div class="why">{}</div>', drawing.bar(record.bar, thin=True), record.sentence
        )

    def value_bar(self, record: FairRow) -> str:
        """The same in words."""
        return record.bar.text

    def render_dominant(self, value: float) -> str:
        """In percent."""
        return f"{formats.number(value * 100, 0)} %"


class HoursColumn(tables.NumberColumn):
    """GPU-hours; nothing where it is not known."""

    def render(self, value: float) -> str:
        """One decimal while they are few."""
        return formats.number(value, 1 if value < 100 else 0)

    def value(self, value: float | None) -> float | None:
        """For programs."""
        return None if value is None else round(value, 3)


class PercentColumn(tables.NumberColumn):
    """Whole percents."""

    def render(self, value: float) -> str:
        """With its sign where it may go both ways."""
        return f"{formats.number(value, 0)} %"

    def value(self, value: float | None) -> float | None:
        """For programs."""
        return None if value is None else round(value, 1)


class UseTable(tables.Table):
    """Use by group, with the time before."""

    caption = gettext_lazy("Use by group")
    empty_title = gettext_lazy("Nothing was used in this time")

    label = django_tables2.Column(gettext_lazy("Group"), attrs={"td": {"class": "bare"}})
    part = django_tables2.Column(
        gettext_lazy("Part"), accessor="share", order_by="-share",
        attrs={"td": {"class": "shape bare"}},
    )  # fmt: skip
    hours = HoursColumn(verbose_name=gettext_lazy("GPU-hours"))
    hours_before = HoursColumn(verbose_name=gettext_lazy("the time before"), default="–")
    change = PercentColumn(verbose_name=gettext_lazy("Change"), default="–")
    percent_used = PercentColumn(verbose_name=gettext_lazy("Computing"), default="–")
    idle_hours = HoursColumn(verbose_name=gettext_lazy("Idle GPU-hours"), default="–")

    class Meta(tables.Table.Meta):
        attrs = {"class": "table cards use"}
        empty_text = gettext_lazy("Choose a longer time, or take a filter away.")

    def __init__(self, *args: Any, by: By, hues: Mapping[Key, int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by, self.hues = by, hues
        self.columns["label"].column.verbose_name = by.label

    def render_label(self, record: UseRow) -> SafeString | str:
        """A team after its dot; a job with its page behind it."""
        if self.by in (By.TEAM, By.DEPARTMENT):
            return format_html(
                '<span class="team"><span class="dot {}"></span>{}</span>',
                drawing.hue_class(self.hues.get(record.key, 0)), record.label,
            )  # fmt: skip
        if self.by is By.WORKLOAD:
            url = reverse("dashboards:workload", args=[record.key])
            return format_html('<a href="{}">{}</a>', url, record.label)
        return record.label

    def value_label(self, record: UseRow) -> str:
        """Its name."""
        return record.label

    def render_part(self, record: UseRow) -> SafeString:
        """Its part of the whole as a bar."""
        text = f"{formats.number(record.share * 100, 1)} %"
        hue = self.hues.get(record.key, 0)
        grain = using.grain(self.by, record.key)
        parts = (drawing.Part(grain, round(record.share * 1000), hue, text),)
        return drawing.bar(drawing.Bar(parts, 1000, text), thin=True)

    def value_part(self, record: UseRow) -> float:
        """In percent."""
        return round(record.share * 100, 2)

    def render_change(self, value: float) -> str:
        """More or less than before."""
        sign = "+" if value > 0 else ""
        return f"{sign}{formats.number(value, 0)} %"

    def value_change(self, value: float | None) -> float | None:
        """For programs: percent."""
        return None if value is None else round(value, 1)
