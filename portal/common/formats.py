"""Numbers, times and durations as people read them, in the active language and zone."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone, translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

_KOREAN_WEEKDAYS = "월화수목금토일"


def gpus(milli: int) -> str:
    """Milli-GPU as GPUs: `18`, `0.5`, `1,024`."""
    return number(Decimal(milli) / 1000)


def number(value: int | float | Decimal, digits: int | None = None) -> str:
    """A number with thousands apart; without `digits` as many decimals as it has, at most three."""
    amount = value if isinstance(value, Decimal) else Decimal(str(value))
    rounded = amount.quantize(Decimal(1).scaleb(-(3 if digits is None else digits)))
    text = f"{rounded:f}"
    if digits is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    return str(number_format(Decimal(text), use_l10n=True, force_grouping=True))


def duration(span: timedelta | float) -> str:
    """Two units at most: `45 s`, `6 m`, `1 h 10 m`, `3 d 4 h`."""
    seconds = int(span.total_seconds() if isinstance(span, timedelta) else span)
    if seconds < 60:
        return _("%(seconds)d s") % {"seconds": seconds}
    minutes = seconds // 60
    if minutes < 60:
        return _("%(minutes)d m") % {"minutes": minutes}
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        words = _("%(hours)d h %(minutes)d m") if minutes else _("%(hours)d h")
        return words % {"hours": hours, "minutes": minutes}
    days, hours = divmod(hours, 24)
    words = _("%(days)d d %(hours)d h") if hours else _("%(days)d d")
    return words % {"days": days, "hours": hours}


def ago(at: datetime, now: datetime) -> str:
    """How far from now: `6 m ago`, `in 2 h`, `now`."""
    seconds = (at - now).total_seconds()
    if abs(seconds) < 1:
        return _("now")
    if seconds > 0:
        return _("in %(span)s") % {"span": duration(seconds)}
    return _("%(span)s ago") % {"span": duration(-seconds)}


def zone_name(at: datetime) -> str:
    """The active zone's short name at this instant: `KST`, `CET`, `UTC-03`."""
    name = timezone.localtime(at).tzname() or "UTC"
    return f"UTC{name}" if name[0] in "+-" else name


def day(at: datetime, now: datetime | None = None, *, inside: bool = False) -> str:
    """The day in the active zone: `Today`, `Tomorrow`, `Tue 3 Nov`, `3 Nov 2025`.

    `inside` a sentence the words are small.
    """
    local = timezone.localtime(at)
    if now is None:
        return _date(local, with_year=True)
    today = timezone.localtime(now).date()
    near = {-1: _("Yesterday"), 0: _("Today"), 1: _("Tomorrow")}.get((local.date() - today).days)
    if near:
        return near.lower() if inside else near
    return _date(local, with_year=local.year != today.year)


def _date(local: datetime, *, with_year: bool) -> str:
    """A date as the active language writes it; without its year it carries the day of the week."""
    if (translation.get_language() or "").startswith("ko"):
        day_and_month = date_format(local, "n월 j일")
        weekday = _KOREAN_WEEKDAYS[local.weekday()]
        return date_format(local, "Y년 n월 j일") if with_year else f"{day_and_month} ({weekday})"
    return date_format(local, "j M Y" if with_year else "D j M")


def clock_time(at: datetime) -> str:
    """The time of day in the active zone: `09:00`."""
    return f"{timezone.localtime(at):%H:%M}"


def when(at: datetime, now: datetime | None = None, *, inside: bool = False) -> str:
    """Day, time and zone: `Tomorrow 09:00 KST`; without `now`, with the full date."""
    return f"{day(at, now, inside=inside)} {clock_time(at)} {zone_name(at)}"


def stamp(at: datetime) -> str:
    """The instant something was read, to the second: `Mon 2 Nov 14:32:10 KST`."""
    local = timezone.localtime(at)
    return f"{_date(local, with_year=False)} {local:%H:%M:%S} {zone_name(at)}"


def span(
    starts_at: datetime, ends_at: datetime, now: datetime | None = None, *, inside: bool = False
) -> str:
    """From when to when: `Tomorrow 09:00–18:00 KST`, `Mon 2 Nov 22:00 – Tue 3 Nov 06:00 KST`."""
    first, last = timezone.localtime(starts_at), timezone.localtime(ends_at)
    zone = zone_name(starts_at)
    if first.date() == last.date():
        return f"{day(starts_at, now, inside=inside)} {first:%H:%M}–{last:%H:%M} {zone}"
    begins = f"{day(starts_at, now, inside=inside)} {first:%H:%M}"
    return f"{begins} – {day(ends_at, now, inside=inside)} {last:%H:%M} {zone}"
