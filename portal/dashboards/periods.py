"""Which time a page looks back on, and how finely charts of it are cut."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.common import zones
from portal.common.filters import FilterForm

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MOST = 60
"""More points than this tell a reader nothing more."""
STEPS = (HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY)
LONGEST = 400 * DAY
PRESETS: Mapping[str, timedelta] = {
    "day": DAY,
    "week": 7 * DAY,
    "month": 30 * DAY,
    "quarter": 90 * DAY,
}
USUAL = "week"
CHOICES = [
    ("day", _("Last 24 hours")), ("week", _("Last 7 days")), ("month", _("Last 30 days")),
    ("quarter", _("Last 90 days")),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open time cut into equal steps; the first place is its beginning."""

    from_at: datetime
    to_at: datetime
    step: timedelta
    places: tuple[datetime, ...]

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.to_at - self.from_at

    @property
    def before(self) -> tuple[datetime, datetime]:
        """The time just before, equally long."""
        return self.from_at - self.length, self.from_at

    def place_of(self, at: datetime) -> int | None:
        """Which step an instant lies in."""
        if not self.from_at <= at < self.to_at:
            return None
        later = [i for i, place in enumerate(self.places) if place <= at]
        return later[-1] if later else None


def cut(from_at: datetime, to_at: datetime, zone: str) -> Window:
    """A window of at most so many steps; days begin at midnight in `zone`, hours on the hour."""
    step = next((s for s in STEPS if (to_at - from_at) / s <= MOST), STEPS[-1])
    places = tuple(_places(from_at, to_at, step, zone))
    return Window(places[0], to_at, step, places)


def _places(from_at: datetime, to_at: datetime, step: timedelta, zone: str) -> Iterator[datetime]:
    midnight, _end = zones.day_of(from_at, zone)
    if step < DAY:
        at = midnight + (from_at - midnight) // step * step
        while at < to_at:
            yield at
            at += step
        return
    # Days of a zone are 23 to 25 hours long: the wall clock is moved, not the instant.
    wall = midnight.astimezone(ZoneInfo(zone))
    while (at := wall.astimezone(midnight.tzinfo)) < to_at:
        yield at
        wall += step


class PeriodForm(FilterForm):
    """A usual time, or days of one's own: both whole days count."""

    period = forms.ChoiceField(label=_("Time"), choices=CHOICES)
    since = forms.DateField(label=_("or from day"), widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("to day"), widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: Any, **kwargs: Any) -> None:
        given = data.copy()
        if not given.get("period") and not given.get("since"):
            given["period"] = USUAL
        super().__init__(given, **kwargs)

    def window(self, *, now: datetime, zone: str) -> Window:
        """The time that was chosen; what makes no sense is the usual one."""
        chosen = self.chosen()
        since, until = chosen.get("since"), chosen.get("until")
        if since is not None:
            begins = _midnight(since, zone)
            ends = min(now, _midnight(until + DAY, zone)) if until else now
            if begins < ends <= begins + LONGEST:
                return cut(begins, ends, zone)
        return cut(now - PRESETS[chosen.get("period", USUAL)], now, zone)


def _midnight(day: date, zone: str) -> datetime:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone))
    return zones.day_of(noon, zone)[0]
