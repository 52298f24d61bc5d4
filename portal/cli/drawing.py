"""Answers as text: plain tables with aligned columns, pairs, times and amounts.

Korean letters take two places in a terminal, and are counted so. Control signs of what people
wrote are left out, since a terminal would obey them.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

GAP = "  "
NOTHING = "-"
WIDE = ("W", "F")


def width(text: str) -> int:
    """Return how many places the text takes."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in WIDE)
        for c in text
    )


def clean(text: object) -> str:
    """Return one line a terminal only shows; nothing as a dash."""
    words = " ".join(str("" if text is None else text).split())
    return "".join(c for c in words if unicodedata.category(c) != "Cc") or NOTHING


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, right: str = "") -> str:
    """Return rows under their heads; `right` holds an r for each column of numbers.

    The last column is not filled up, so that lines end where their words end.
    """
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(heads, *cells, strict=True)]
    return "\n".join(_line(line, widths, right) for line in [list(heads), *cells])


def _line(cells: Sequence[str], widths: Sequence[int], right: str) -> str:
    filled = []
    for place, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (wide - width(cell))
        filled.append(space + cell if right[place : place + 1] == "r" else cell + space)
    return GAP.join(filled).rstrip()


def pairs(lines: Iterable[tuple[str, object]]) -> str:
    """Return names and values, one pair a line; what is nothing is left out."""
    held = [(name, clean(value)) for name, value in lines if value not in (None, "")]
    widest = max((width(name) for name, _value in held), default=0)
    return "\n".join(f"{name}{' ' * (widest - width(name))}{GAP}{value}" for name, value in held)


def moment(text: object) -> str:
    """Return a time of the API in the terminal's zone, which it names."""
    if not isinstance(text, str):
        return NOTHING
    at = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()
    return f"{at:%Y-%m-%d %H:%M} {at.tzname()}"


def gpus(milli: object) -> str:
    """Return milli-GPU as GPUs, such as 8 or 0.5."""
    return f"{milli / 1000:g}" if isinstance(milli, int) else NOTHING


def hours(milli_seconds: object) -> str:
    """Return milli-GPU-seconds as GPU-hours."""
    if not isinstance(milli_seconds, int):
        return NOTHING
    return f"{milli_seconds / 3_600_000:,.1f}"


def stretch(seconds: object) -> str:
    """Return a stretch of time in its two largest parts, such as 2d 3h or 5m 10s."""
    if not isinstance(seconds, int):
        return NOTHING
    left, found = max(0, seconds), []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            found.append(f"{count}{unit}")
    return " ".join(found[:2]) or "0s"
