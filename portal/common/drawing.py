"""Pictures drawn on the server as SVG: the bar and the lanes of time, in one grammar.

Solid = guaranteed, hatched = borrowed, empty = idle; a dashed edge = reserved, pale when not used
and solid inside when used; the hue is the team. Sizes are percentages, so a picture fits any width without stretching its pattern, and
nothing needs an inline style. The hatching patterns stand once in the page (common/hatches.html).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

SOLID = "solid"
HATCHED = "hatched"
DASHED = "dashed"
FENCED = "fenced"
EMPTY = "empty"

_ROW = 32
_NEAR = 26.0
_NOTHING: SafeString = mark_safe("")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a bar."""

    grain: str
    amount: int
    hue: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a bar's scale."""

    at: int
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Stretches of a whole, in order; `text` says the same in words."""

    parts: tuple[Part, ...]
    total: int
    text: str
    marks: tuple[Mark, ...] = ()

    @property
    def plain(self) -> "Bar":
        """Without its scale, for a table's row."""
        return Bar(self.parts, self.total, self.text)


@dataclass(frozen=True, slots=True)
class Span:
    """A block in a lane, from and to as portions of the lane (0 to 1)."""

    starts: float
    ends: float
    grain: str
    hue: int
    label: str
    text: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of a calendar."""

    label: str
    spans: tuple[Span, ...]
    hue: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on the time axis, as a portion of it."""

    at: float
    label: str


def hue_class(hue: int) -> str:
    """The class that gives an element a team's colour."""
    return f"hue-{hue}" if 1 <= hue <= 8 else "hue-none"


def portion(at: datetime, from_at: datetime, to_at: datetime) -> float:
    """Where an instant lies in a window, cut to 0..1."""
    return min(1.0, max(0.0, (at - from_at) / (to_at - from_at)))


def fill(grain: str, hue: int) -> SafeString:
    """The attributes that paint a shape."""
    if grain == HATCHED:
        pattern = hue if 1 <= hue <= 8 else "none"
        return format_html('class="ink-hatched" fill="url(#hatch-{})"', pattern)
    return format_html('class="ink-{}"', grain)


def percent(portion_of_one: float) -> str:
    """A length in SVG."""
    return f"{portion_of_one * 100:.3f}%"


def bar(value: Bar, *, thin: bool = False) -> SafeString:
    """The bar and, when it has marks, its scale."""
    total = max(value.total, 1)
    pieces: list[SafeString] = []
    at = 0
    for part in value.parts:
        room = max(0, min(part.amount, total - at))
        if room and part.grain != EMPTY:
            pieces.append(_block(at / total, (at + room) / total, part.grain, part.hue, part.label))
        at += room
    body = _join(pieces)
    drawn = format_html(
        '<svg class="bar{}" role="img" aria-label="{}" focusable="false">{}</svg>',
        " thin" if thin else "", value.text, body,
    )  # fmt: skip
    return _join([drawn, _scale(value.marks, total)])


def _block(starts: float, ends: float, grain: str, hue: int, label: str) -> SafeString:
    """One stretch; its own viewport, so that a dashed edge stays inside."""
    return format_html(
        '<svg x="{}" width="{}" height="100%" class="{}">'
        '<rect width="100%" height="100%" {}>{}</rect></svg>',
        percent(starts), percent(ends - starts), hue_class(hue), fill(grain, hue),
        format_html("<title>{}</title>", label) if label else "",
    )  # fmt: skip


def _scale(marks: Sequence[Mark], total: int) -> SafeString:
    """Ticks under a bar. Labels too close to each other become one."""
    if not marks:
        return _NOTHING
    places: list[tuple[float, str]] = []
    for mark in sorted(marks, key=lambda m: m.at):
        at = min(100.0, 100 * mark.at / total)
        if places and at - places[-1][0] < _NEAR:
            places[-1] = (at, f"{places[-1][1]} · {mark.label}")
        else:
            places.append((at, mark.label))
    lines = format_html_join(
        "", '<line x1="{0}%" x2="{0}%" y1="0" y2="5"/>',
        ((f"{min(99.85, max(0.15, 100 * m.at / total)):.3f}",) for m in marks),
    )  # fmt: skip
    texts = format_html_join(
        "", '<text x="{}%" y="18" text-anchor="{}">{}</text>',
        ((f"{at:.3f}", _anchor(at), label) for at, label in places),
    )  # fmt: skip
    return format_html(
        '<svg class="bar-scale" aria-hidden="true" focusable="false">{}{}</svg>', lines, texts
    )


def _anchor(at: float) -> str:
    if at > 86:
        return "end"
    return "start" if at < 8 else "middle"


def lanes(
    rows: Iterable[Lane], ticks: Sequence[Tick], *, now_at: float | None = None
) -> SafeString:
    """Rows of time under one axis; overlapping blocks of a row stand below one another."""
    hours = format_html_join(
        "", '<text x="{}" y="15">{}</text>', ((percent(t.at), t.label) for t in ticks)
    )
    parts = [
        format_html(
            '<div class="corner"></div><div class="hours">'
            '<svg height="24" aria-hidden="true" focusable="false">{}</svg></div>', hours,
        )
    ]  # fmt: skip
    parts += [_lane(row, ticks, now_at) for row in rows]
    return format_html(
        '<div class="lanes-scroll" tabindex="0"><div class="lanes">{}</div></div>', _join(parts)
    )


def _lane(row: Lane, ticks: Sequence[Tick], now_at: float | None) -> SafeString:
    places = _stack(row.spans)
    height = 12 + _ROW * max(1, 1 + max((place for place, _ in places), default=0))
    grid = format_html_join(
        "", '<line x1="{0}" x2="{0}" y1="0" y2="100%"/>', ((percent(t.at),) for t in ticks)
    )
    now_line = (
        format_html('<line class="now" x1="{0}" x2="{0}" y1="0" y2="100%"/>', percent(now_at))
        if now_at is not None else _NOTHING
    )  # fmt: skip
    blocks = _join([_span(span, place) for place, span in places])
    dot = format_html('<span class="dot {}"></span>', hue_class(row.hue)) if row.hue else _NOTHING
    return format_html(
        '<div><span>{}{}</span></div><div><svg height="{}" focusable="false">{}{}{}</svg></div>',
        dot, row.label, height, grid, blocks, now_line,
    )  # fmt: skip


def _stack(spans: Iterable[Span]) -> list[tuple[int, Span]]:
    """Each block with the first line of its lane that is free for it."""
    free_from: list[float] = []
    placed: list[tuple[int, Span]] = []
    for span in sorted(spans, key=lambda s: (s.starts, s.ends)):
        line = next((i for i, end in enumerate(free_from) if end <= span.starts), len(free_from))
        free_from[line:] = [span.ends, *free_from[line + 1 :]]
        placed.append((line, span))
    return placed


def _span(span: Span, line: int) -> SafeString:
    text = span.text or span.label
    body = format_html(
        '<svg x="{}" y="{}" width="{}" height="26" class="{}">'
        '<rect width="100%" height="100%" rx="4" {}><title>{}</title></rect>'
        '<text x="8" y="17"{}>{}</text></svg>',
        percent(span.starts), 8 + _ROW * line, percent(max(span.ends - span.starts, 0.002)),
        hue_class(span.hue), fill(span.grain, span.hue), text,
        mark_safe(' class="on-solid"') if span.grain == SOLID else "", span.label,
    )  # fmt: skip
    if not span.href:
        return body
    return format_html('<a href="{}" aria-label="{}">{}</a>', span.href, text, body)


def _join(pieces: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((piece,) for piece in pieces))
