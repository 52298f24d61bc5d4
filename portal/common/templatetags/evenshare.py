"""Formats and pictures every page uses; loaded everywhere without asking."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.forms import BoundField
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from portal.common import charts, drawing, formats
from portal.common import money as common_money

register = template.Library()


@register.filter
def gpus(milli: int | None) -> str:
    """Milli-GPU as GPUs; nothing for None."""
    return "" if milli is None else formats.gpus(milli)


@register.filter
def number(value: int | float | None, digits: int | None = None) -> str:
    """A number with thousands apart."""
    return "" if value is None else formats.number(value, digits)


@register.filter
def money(micro: int | None, currency: str) -> str:
    """Micro-units as an amount: `₩ 1,152,000`."""
    return "" if micro is None else common_money.show(micro, currency)


@register.filter
def duration(span: timedelta | float | None) -> str:
    """`1 h 10 m`."""
    return "" if span is None else formats.duration(span)


@register.filter
def stamp(at: datetime) -> str:
    """The instant a page was read, to the second."""
    return formats.stamp(at)


@register.filter
def hue(value: int) -> str:
    """The class of a team's colour."""
    return drawing.hue_class(value)


@register.simple_tag(takes_context=True)
def when(
    context: Context, at: datetime | None, *, full: bool = False, inside: bool = False
) -> SafeString | str:
    """A time with its day and zone, relative to the page's `now`; `inside` a sentence or not."""
    if at is None:
        return ""
    now = None if full else context.get("now")
    return _time(at, formats.when(at, now, inside=inside))


@register.simple_tag(takes_context=True)
def span(context: Context, starts_at: datetime, ends_at: datetime) -> str:
    """From when to when, with the zone."""
    return formats.span(starts_at, ends_at, context.get("now"))


@register.simple_tag(takes_context=True)
def ago(context: Context, at: datetime | None) -> SafeString | str:
    """How far from the page's `now`."""
    if at is None:
        return ""
    return _time(at, formats.ago(at, context["now"]))


def _time(at: datetime, words: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), formats.when(at), words
    )


@register.simple_tag
def bar(value: drawing.Bar, *, thin: bool = False) -> SafeString:
    """The bar in the one grammar."""
    return drawing.bar(value, thin=thin)


@register.simple_tag
def lanes(
    rows: list[drawing.Lane], ticks: list[drawing.Tick], now_at: float | None = None
) -> SafeString:
    """Rows of time under one axis."""
    return drawing.lanes(rows, ticks, now_at=now_at)


@register.simple_tag
def team(name: str, hue: int) -> SafeString:
    """A team's name after its dot; nothing is nobody's work."""
    return format_html(
        '<span class="team"><span class="dot {}"></span>{}</span>',
        drawing.hue_class(hue or 0), name or _("no team"),
    )  # fmt: skip


@register.inclusion_tag("common/legend.html")
def legend(hue: int = 1) -> dict[str, Any]:
    """What solid, hatched, dashed and empty mean."""
    return {"hue_class": drawing.hue_class(hue)}


@register.inclusion_tag("common/empty.html")
def nothing_here(title: str, sentence: str = "", url: str = "", action: str = "") -> dict[str, Any]:
    """What a list says when it has nothing: a title, a sentence and the next step."""
    return {"title": title, "sentence": sentence, "url": url, "action": action}


@register.inclusion_tag("common/pill.html")
def pill(label: str, tone: str = "") -> dict[str, Any]:
    """A state in one word; `tone` is good, warn, bad or nothing."""
    return {"label": label, "tone": tone}


@register.simple_tag
def ink(grain: str, name: str) -> SafeString:
    """How a legend paints a shape of this grain and colour."""
    if grain == drawing.HATCHED and name == "accent":
        return format_html('class="ink-hatched" fill="url(#hatch-{})"', name)
    hue_number = name.removeprefix("hue-")
    return drawing.fill(grain, int(hue_number) if hue_number.isdigit() else 0)


@register.inclusion_tag("common/chart.html", takes_context=True)
def chart(context: Context, value: charts.Chart, *, level: int = 2) -> dict[str, Any]:
    """A chart with its sentence, its table and its downloads; `level` is that of its heading."""
    return {"chart": value, "level": level, "request": context["request"]}


@register.filter
def is_check(field: BoundField) -> bool:
    """Whether a field is one box to tick, whose label follows it."""
    return getattr(field.field.widget, "input_type", "") == "checkbox" and not field.use_fieldset


@register.simple_tag(takes_context=True)
def page_query(context: Context, **changes: object) -> str:
    """This page's query string with some values changed; None or empty takes one out."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = str(value)
    return f"?{query.urlencode()}"
