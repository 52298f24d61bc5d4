"""Charts: plain figures in; a Plotly figure, a table, a legend and a CSV out, all of the same numbers.

A selector or view makes a `Chart`; `{% chart value %}` draws it (templates/common/chart.html) and
`download` answers `?chart=<key>&format=csv`. The figure is built with `plotly.graph_objects`, which
refuses what the plotly.js we serve does not know, and travels as JSON in the page; static/js/charts.js
draws it when it comes near the screen. Colours are names of static/css/tokens.css, resolved in the
browser, so one figure serves both themes. The grammar is that of `drawing`: solid, hatched, dashed,
empty; lines differ also by their dashes, never by colour alone.

plotly.js knows no time zones: instants travel as wall time of the active zone, whose name the chart
says. `None` is a gap and is drawn as one. Plotly reads tags in texts, so every text is escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from portal.common import csv, formats
from portal.common.drawing import HATCHED, SOLID

LINE = "line"
"""Points joined by straight lines."""
STEP = "step"
"""A value that holds until the next, as an allocation does."""
AREA = "area"
"""The same, stacked on the areas before it."""
BAR = "bar"
"""A bar for each place, beside or on the others."""
DOT = "dot"
"""A mark of its own shape at each value."""

DAY = timedelta(days=1)
WIDE = 0.12
"""Of a chart's width: a gap narrower than this has no room for words."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "triangle-up", "square", "cross", "star")
STROKES = {
    "solid": "", "dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4",
    "longdashdot": "10 3 2 3",
}  # fmt: skip

Value = float | int | None


@dataclass(frozen=True, slots=True)
class Series:
    """One row of figures. `ink` names a colour: hue-1 to hue-8, accent, soft, good, warn, bad.

    `low` and `high` are the ends of what each value may be, drawn as whiskers.
    """

    name: str
    values: tuple[Value, ...]
    ink: str = "accent"
    form: str = STEP
    grain: str = SOLID
    low: tuple[Value, ...] = ()
    high: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """What one picture shows. `places` are instants (with the `step` between them) or names."""

    key: str
    title: str
    takeaway: str
    as_of: datetime
    places: tuple[datetime | str, ...]
    series: tuple[Series, ...]
    unit: str
    place: str = ""
    step: timedelta | None = None
    digits: int = 1
    tall: bool = False
    stacked: bool = False
    lying: bool = False
    top: float | None = None
    log: bool = False
    scale: tuple[tuple[float, str], ...] = ()
    """Places on the values' axis with their words; by default plain numbers."""

    @property
    def figure(self) -> dict[str, Any]:
        """What the browser draws."""
        return figure(self)

    @property
    def data_id(self) -> str:
        """The id of its figure in the page."""
        return f"chart-{self.key}-data"

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return all(value is None for one in self.series for value in one.values)

    @property
    def zone(self) -> str:
        """The zone its times are in; nothing where it has none."""
        return formats.zone_name(self.as_of) if self.timed else ""

    @property
    def timed(self) -> bool:
        """Whether its places are instants."""
        return bool(self.places) and isinstance(self.places[0], datetime)

    @property
    def has_gaps(self) -> bool:
        """Whether some instants have no figure at all."""
        return self.timed and bool(_gaps(self))

    @property
    def header(self) -> list[str]:
        """The table's columns."""
        return [self.place or _("Time"), *(_with_unit(one.name, self.unit) for one in self.series)]

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The table, as people read it."""
        return [
            (
                _place_words(place, self.step),
                [_said(one.values[i], self.digits) for one in self.series],
            )
            for i, place in enumerate(self.places)
        ]

    @property
    def legend(self) -> list["Swatch"]:
        """What each colour, dash and hatching means."""
        return [
            Swatch(
                i, one.name, one.ink, _filled(one), one.grain, STROKES[_dash(self, i)],
                SYMBOLS[i % len(SYMBOLS)] if one.form == DOT else "",
            )
            for i, one in enumerate(self.series)
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Swatch:
    """One entry of a legend."""

    index: int
    name: str
    ink: str
    filled: bool
    grain: str
    stroke: str
    symbol: str = ""

    @property
    def css(self) -> str:
        """The class that gives it its colour."""
        return self.ink if self.ink.startswith("hue-") else f"hue-{self.ink}"


def figure(chart: Chart) -> dict[str, Any]:
    """The chart as Plotly's JSON: traces and layout, checked against Plotly's schema."""
    from plotly import graph_objects  # 64 MB of schemas: only a page with a chart reads them

    traces = [
        (graph_objects.Bar if one.form == BAR else graph_objects.Scatter)(
            **_trace(chart, i, one)
        ).to_plotly_json()
        for i, one in enumerate(chart.series)
    ]
    layout = graph_objects.Layout(**_layout(chart)).to_plotly_json()
    return {"data": traces, "layout": layout}


def _trace(chart: Chart, index: int, one: Series) -> dict[str, Any]:
    along, across = _along(chart, one), _across(chart, one)
    x, y = (across, along) if chart.lying else (along, across)
    common: dict[str, Any] = {
        "x": x, "y": y, "name": escape(one.name, quote=False),
        "hovertemplate": f"%{{{'x' if chart.lying else 'y'}:,.{chart.digits}f}} {_hover_unit(chart)}",
        "showlegend": False,
    }  # fmt: skip
    return common | (_bar(chart, one) if one.form == BAR else _curve(chart, index, one))


def _curve(chart: Chart, index: int, one: Series) -> dict[str, Any]:
    shape = "linear" if one.form == LINE else "hv"
    if one.form == DOT:
        symbol = SYMBOLS[index % len(SYMBOLS)]
        return {"mode": "markers",
                "marker": {"color": f"var(--{one.ink})", "size": 11, "symbol": symbol}}  # fmt: skip
    look: dict[str, Any] = {
        "mode": "lines+markers" if one.form == LINE and len(chart.places) <= 40 else "lines",
        "connectgaps": False,
        "line": {
            "color": f"var(--{one.ink})", "width": 2, "shape": shape, "dash": _dash(chart, index),
        },
        "marker": {"size": 5},
    }  # fmt: skip
    if one.form != AREA:
        return look
    look["line"]["width"] = 0
    return look | {"stackgroup": "all", "stackgaps": "infer zero"} | _area(one)


def _area(one: Series) -> dict[str, Any]:
    if one.grain == HATCHED:
        pattern = {"shape": "/", "fgcolor": f"var(--{one.ink})", "bgcolor": "var(--paper)",
                   "size": 7, "solidity": 0.4, "fillmode": "overlay"}  # fmt: skip
        return {"fillpattern": pattern, "fillcolor": f"var(--{one.ink})"}
    return {"fillcolor": f"var(--{one.ink})" if one.grain == SOLID else "var(--idle)"}


def _bar(chart: Chart, one: Series) -> dict[str, Any]:
    ink = f"var(--{one.ink})"
    marker: dict[str, Any] = {"color": ink, "line": {"width": 0}}
    if one.grain == HATCHED:
        marker["pattern"] = {"shape": "/", "fgcolor": ink, "bgcolor": "var(--paper)", "size": 7,
                             "solidity": 0.4, "fillmode": "overlay"}  # fmt: skip
    elif one.grain != SOLID:
        marker |= {"color": "var(--idle)", "line": {"color": ink, "width": 1}}
    look: dict[str, Any] = {"orientation": "h" if chart.lying else "v", "marker": marker}
    if one.low and one.high:
        look["error_x" if chart.lying else "error_y"] = {
            "type": "data", "symmetric": False, "color": "var(--ink)", "thickness": 1.5, "width": 4,
            "array": [_reach(v, high) for v, high in zip(one.values, one.high, strict=True)],
            "arrayminus": [_reach(low, v) for v, low in zip(one.values, one.low, strict=True)],
        }  # fmt: skip
    return look


def _reach(low: Value, high: Value) -> float:
    return 0 if low is None or high is None else round(high - low, 4)


def _layout(chart: Chart) -> dict[str, Any]:
    """The one theme of all charts."""
    axis: dict[str, Any] = {
        "gridcolor": "var(--hair)", "linecolor": "var(--line)", "zeroline": False,
        "fixedrange": True, "automargin": True, "tickfont": {"size": 12},
    }  # fmt: skip
    values = axis | {
        "title": {"text": escape(chart.unit, quote=False), "font": {"size": 12}, "standoff": 8},
        "rangemode": "tozero", "nticks": 6, "separatethousands": True,
    }  # fmt: skip
    if chart.top is not None:
        values["range"] = [0, chart.top]
    if chart.log:
        values |= {"type": "log", "rangemode": "normal"}
    if chart.scale:
        values |= {"tickvals": [at for at, _words in chart.scale],
                   "ticktext": [escape(words) for _at, words in chart.scale]}  # fmt: skip
    places = axis | {"showgrid": False, "showline": True, "ticks": "outside", "ticklen": 4}
    if chart.timed:
        places |= {"type": "date", "tickformatstops": _tick_words(), "nticks": 8,
                   "hoverformat": _hover_words(chart.step)}  # fmt: skip
    else:
        places |= {"type": "category"}
    if chart.lying:
        places |= {"autorange": "reversed", "showline": False, "ticklen": 6,
                   "tickcolor": "rgba(0,0,0,0)"}  # fmt: skip
    return {
        "font": {"family": "var(--font)", "size": 13, "color": "var(--soft)"},
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8}, "autosize": True, "dragmode": False,
        "barmode": "stack" if chart.stacked else "group", "bargap": 0.25,
        "separators": ".,", "showlegend": False,
        "hovermode": ("y" if chart.lying else "x") + " unified",
        "hoverlabel": {"bgcolor": "var(--raise)", "bordercolor": "var(--line)",
                       "font": {"color": "var(--ink)", "size": 13}},
        "xaxis": values if chart.lying else places, "yaxis": places if chart.lying else values,
        "shapes": [_gap(chart, starts, ends) for starts, ends in _gaps(chart)],
    }  # fmt: skip


def _tick_words() -> list[dict[str, Any]]:
    """How the time axis writes hours and days, in the reader's language."""
    korean = (translation.get_language() or "").startswith("ko")
    day, month = ("%-m월 %-d일", "%Y년 %-m월") if korean else ("%-d %b", "%b %Y")
    hours = 12 * 3_600_000
    return [
        {"dtickrange": [None, hours], "value": f"%H:%M\n{day}"},
        {"dtickrange": [hours, "M1"], "value": day},
        {"dtickrange": ["M1", None], "value": month},
    ]


def _hover_words(step: timedelta | None) -> str:
    korean = (translation.get_language() or "").startswith("ko")
    day = "%-m월 %-d일" if korean else "%-d %b %Y"
    return day if step is not None and step >= DAY else f"{day} %H:%M"


def _gaps(chart: Chart) -> list[tuple[datetime, datetime]]:
    """Stretches of time without any figure."""
    if not chart.timed or chart.empty:
        return []
    found: list[tuple[datetime, datetime]] = []
    for i, at in enumerate(chart.places):
        assert isinstance(at, datetime)
        if any(one.values[i] is not None for one in chart.series):
            continue
        ends = at + (chart.step or timedelta(0))
        if found and found[-1][1] >= at:
            found[-1] = (found[-1][0], ends)
        else:
            found.append((at, ends))
    return found


def _gap(chart: Chart, starts: datetime, ends: datetime) -> dict[str, Any]:
    """The shade over it; in words too where there is room for them."""
    first, last = chart.places[0], chart.places[-1]
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    shade: dict[str, Any] = {
        "type": "rect", "xref": "x", "yref": "paper", "x0": _wall(starts), "x1": _wall(ends),
        "y0": 0, "y1": 1, "layer": "below", "fillcolor": "var(--sunk)", "line": {"width": 0},
    }  # fmt: skip
    if (ends - starts) >= WIDE * (last - first):
        font = {"color": "var(--soft)", "size": 12}
        shade["label"] = {"text": escape(_("no data")), "font": font}
    return shade


def _along(chart: Chart, one: Series) -> list[str]:
    """Places of the points; what holds its value holds it to the end of the last step."""
    if not chart.timed:
        return [escape(str(place), quote=False) for place in chart.places]
    instants = [place for place in chart.places if isinstance(place, datetime)]
    if _holds(chart, one):
        instants.append(instants[-1] + (chart.step or timedelta(0)))
    return [_wall(at) for at in instants]


def _across(chart: Chart, one: Series) -> list[Value]:
    values = [None if v is None else round(float(v), 3) for v in one.values]
    return [*values, values[-1]] if values and _holds(chart, one) else list(values)


def _holds(chart: Chart, one: Series) -> bool:
    return chart.timed and chart.step is not None and one.form in (STEP, AREA)


def _wall(at: datetime) -> str:
    """An instant as Plotly wants it: the wall time of the active zone, without an offset."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M}"


def _filled(one: Series) -> bool:
    return one.form in (AREA, BAR)


def _dash(chart: Chart, index: int) -> str:
    """Each line of a chart has dashes of its own."""
    one = chart.series[index]
    if _filled(one):
        return "solid"
    return DASHES[sum(not _filled(other) for other in chart.series[:index]) % len(DASHES)]


def _hover_unit(chart: Chart) -> str:
    return escape(chart.unit, quote=False).replace("%{", "% {")


def _with_unit(name: str, unit: str) -> str:
    return _("%(name)s (%(unit)s)") % {"name": name, "unit": unit} if unit else name


def _said(value: Value, digits: int) -> str:
    return "–" if value is None else formats.number(value, digits)


def _place_words(place: datetime | str, step: timedelta | None) -> str:
    if not isinstance(place, datetime):
        return place
    if step is not None and step >= DAY:
        return formats.day(place)
    return f"{formats.day(place)} {formats.clock_time(place)}"


def csv_rows(chart: Chart) -> Iterator[Sequence[object]]:
    """The same numbers for programs: times with their offset, gaps as empty cells."""
    yield tuple(chart.header)
    for i, place in enumerate(chart.places):
        yield (place, *(one.values[i] for one in chart.series))


def download(request: HttpRequest, charts: Iterable[Chart]) -> StreamingHttpResponse | None:
    """The chart that `?chart=<key>&format=csv` asks for; None where none is asked."""
    wanted = request.GET.get("chart")
    if not wanted or request.GET.get("format") != "csv":
        return None
    found = next((chart for chart in charts if chart.key == wanted), None)
    return csv.response(wanted, csv_rows(found)) if found else None
