"""What /style shows: one specimen of each part pages are made of, with figures made up for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import django_tables2
from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.common import drawing, tables
from portal.common.charts import AREA, BAR, LINE, Chart, Series
from portal.common.drawing import DASHED, FENCED, HATCHED, SOLID, Bar, Lane, Mark, Part, Span, Tick
from portal.common.forms import DateTimeInput

HOUR = timedelta(hours=1)
TOKENS = {
    gettext_lazy("Paper and ink"): ("paper", "raise", "sunk", "idle", "hair", "line", "soft", "ink"),
    gettext_lazy("Accent and states"): ("accent", "accent-wash", "good", "warn", "bad", "bad-wash"),
    gettext_lazy("Teams"): tuple(f"hue-{n}" for n in range(1, 9)),
}  # fmt: skip
TEAMS = ("Vision", "Speech", "Search", "Robotics", "Platform", "Maps", "Voice", "Ads")
SPACES = ("u1", "u2", "u3", "u4", "u5", "u6", "u7")
NODES = (
    ("h100-01", (SOLID,) * 8, 1),
    ("h100-02", (SOLID,) * 4 + (HATCHED,) * 2 + ("",) * 2, 2),
    ("h100-03", (SOLID,) * 2 + (FENCED,) * 2 + (DASHED,) * 2 + ("",) * 2, 3),
    ("h100-04", ("",) * 8, 0),
)
"""Nodes of the specimen map: name, what each GPU is, the team."""


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the specimen table."""

    name: str
    gpus: int
    cost: int
    starts_at: datetime


class JobTable(tables.Table):
    """A short list."""

    caption = gettext_lazy("Jobs made up to show a table")
    name = django_tables2.Column(verbose_name=gettext_lazy("Job"))
    gpus = tables.GpusColumn(verbose_name=gettext_lazy("GPUs"))
    cost = tables.MoneyColumn("KRW", verbose_name=gettext_lazy("Cost"))
    starts_at = tables.WhenColumn(verbose_name=gettext_lazy("Starts"))

    class Meta(tables.Table.Meta):
        """Sorted as given."""

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        self.now = now
        super().__init__(*args, **kwargs)


class SpecimenForm(forms.Form):
    """Every kind of field, one of them filled in wrongly."""

    purpose = forms.CharField(
        label=gettext_lazy("Purpose"), help_text=gettext_lazy("One sentence others can read.")
    )
    gpus = forms.IntegerField(label=gettext_lazy("GPUs"), min_value=1, max_value=64)
    starts_at = forms.DateTimeField(
        label=gettext_lazy("From"), required=False, widget=DateTimeInput
    )
    source = forms.ChoiceField(
        label=gettext_lazy("Taken from"),
        choices=[("guarantee", gettext_lazy("Our guarantee")), ("pool", gettext_lazy("The pool"))],
    )
    whole = forms.BooleanField(label=gettext_lazy("On whole nodes"), required=False)


def jobs(now: datetime) -> JobTable:
    """The specimen table."""
    rows = [
        Job("llm-sft-07", 8000, 1_152_000_000_000, now + HOUR),
        Job("eval-nightly", 500, 38_400_000_000, now + 30 * HOUR),
    ]
    return JobTable(rows, now=now)


def form() -> SpecimenForm:
    """The specimen form, with a fault."""
    return SpecimenForm({"purpose": _("Training"), "gpus": 90, "source": "pool"})


def bar() -> Bar:
    """A team that borrows and does not use all it reserved."""
    parts = (
        Part(SOLID, 14, 1, _("%(n)s guaranteed") % {"n": 14}),
        Part(HATCHED, 4, 1, _("%(n)s borrowed") % {"n": 4}),
        Part(DASHED, 2, 1, _("%(n)s reserved, not used") % {"n": 2}),
    )
    marks = (Mark(16, _("%(n)s guaranteed") % {"n": 16}), Mark(24, _("%(n)s limit") % {"n": 24}))
    return Bar(parts, 24, ", ".join(part.label for part in parts), marks)


def lanes() -> tuple[list[Lane], list[Tick]]:
    """Two teams over a day."""
    rows = [
        Lane("Vision", (Span(0.2, 0.55, SOLID, 1, "R-209 · 16"),), 1),
        Lane("Speech", (Span(0.1, 0.3, DASHED, 2, "R-214 · 8"), Span(0.4, 0.8, FENCED, 2, "R-218")), 2),
    ]  # fmt: skip
    return rows, [Tick(hour / 24, f"{hour:02d}") for hour in range(0, 24, 4)]


def cells() -> list[tuple[str, list[tuple[str, str]]]]:
    """The map: each node's name and the classes of its GPUs."""
    return [
        (name, [(grain, drawing.hue_class(hue) if grain else "") for grain in grains])
        for name, grains, hue in NODES
    ]


def pictures(now: datetime) -> list[Chart]:
    """A chart of each form, in the one theme."""
    return [_areas(now), _lines(now), _bars(now), _nothing(now)]


def _areas(now: datetime) -> Chart:
    hours = tuple(
        now.replace(minute=0, second=0, microsecond=0) - (24 - i) * HOUR for i in range(24)
    )
    own = tuple(None if 9 <= i < 12 else 10 + (i * 7) % 5 for i in range(24))
    borrowed = tuple(None if 9 <= i < 12 else (i * 5) % 7 for i in range(24))
    return Chart(
        key="specimen-areas", title=_("Stacked areas"),
        takeaway=_("Solid is a team's own, hatched is borrowed; where nothing was recorded there is a gap."),
        as_of=now, places=hours, step=HOUR, unit=_("GPUs"),
        series=(
            Series(_("guaranteed"), own, "hue-1", AREA),
            Series(_("borrowed"), borrowed, "hue-1", AREA, HATCHED),
        ),
    )  # fmt: skip


def _lines(now: datetime) -> Chart:
    days = tuple(now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=14 - i)
                 for i in range(14))  # fmt: skip
    rows = (("Vision", "hue-1", 3), ("Speech", "hue-2", 5), ("Search", "hue-3", 4))
    return Chart(
        key="specimen-lines", title=_("Lines"),
        takeaway=_("Each line has dashes of its own, so that colour is never the only difference."),
        as_of=now, places=days, step=timedelta(days=1), unit=_("GPUs"),
        series=tuple(
            Series(name, tuple(8 + (i * n) % 9 for i in range(14)), ink, LINE)
            for name, ink, n in rows
        ),
    )  # fmt: skip


def _bars(now: datetime) -> Chart:
    return Chart(
        key="specimen-bars", title=_("Bars"),
        takeaway=_("Whiskers show how far runs with other seeds lie apart."),
        as_of=now, places=("Vision", "Speech", "Search", "Robotics"), unit=_("minutes"), lying=True,
        place=_("Team"),
        series=(
            Series(_("as it was"), (14, 22, 9, 31), "soft", BAR),
            Series(_("changed"), (11, 25, 9, 24), "accent", BAR,
                   low=(9, 22, 8, 19), high=(14, 29, 10, 30)),
        ),
    )  # fmt: skip


def _nothing(now: datetime) -> Chart:
    return Chart(
        key="specimen-nothing", title=_("A chart of nothing"), takeaway="", as_of=now, places=(),
        series=(), unit="",
    )  # fmt: skip
