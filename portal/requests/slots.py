"""Arithmetic over steps of a window: the least room in it, and where a long enough gap begins.

Steps are spans that follow one another and fill a window, as `inventory.calendar.steps` gives
them. Pure, no database; each question is one pass over the steps.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from portal.inventory.calendar import Period, Span, clip, less, steps

Steps = Sequence[Span]


def constant(gpus: int, window: Period) -> Steps:
    """The same value throughout."""
    return (Span(window.from_at, window.to_at, gpus),)


def smaller(left: Steps, right: Steps) -> Steps:
    """At every instant the smaller of two values over the same window."""
    window = Period(left[0].from_at, left[-1].to_at)
    above = [Span(s.from_at, s.to_at, max(0, s.gpus)) for s in less(left, right)]
    return less(left, steps(above, window))


def lowest(over: Steps, from_at: datetime, to_at: datetime) -> int:
    """The least value between two instants of the window."""
    inside = (s.gpus for s in over if clip(s.from_at, s.to_at, Period(from_at, to_at)))
    return min(inside, default=0)


def first_below(over: Steps, least: int, from_at: datetime, to_at: datetime) -> Span | None:
    """The first stretch between two instants in which the value is below `least`."""
    for span in over:
        part = clip(span.from_at, span.to_at, Period(from_at, to_at))
        if part and span.gpus < least:
            return Span(part.from_at, part.to_at, span.gpus)
    return None


def beginnings(over: Steps, least: int, length: timedelta) -> list[datetime]:
    """Where a stretch of `length` with `least` throughout can begin, earliest first.

    Only where a step begins: between two steps nothing changes that could help. It has to end
    within the window.
    """
    short_at = over[-1].to_at if over else None
    found: list[datetime] = []
    for span in reversed(over):
        if span.gpus < least:
            short_at = span.from_at
        elif short_at is not None and short_at - span.from_at >= length:
            found.append(span.from_at)
    return found[::-1]
