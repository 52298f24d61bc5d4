"""Local times as people type them, and the instants they mean.

A time with an offset is an instant. One without is a time on the clocks of a zone: such a time may
not exist (clocks go forward) or come twice (clocks go back); then the answer says what to write.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from portal.common import zones

LOCAL = "%Y-%m-%dT%H:%M"


class NotATime(ValueError):
    """What was typed names no instant, or two; the message says what to write instead."""


def read(text: str, zone: str) -> datetime:
    """The instant, in UTC, that `text` means on the clocks of `zone`."""
    try:
        given = parse_datetime(text.strip())
    except ValueError:
        given = None
    if given is None or ":" not in text or given.year not in zones.YEARS:
        raise NotATime(_("Write a date and a time, such as 2026-11-02T09:00."))
    if given.tzinfo is not None:
        return given.astimezone(UTC)
    first, second = (given.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first.astimezone(UTC)
    if (first.utcoffset() or timedelta()) < (second.utcoffset() or timedelta()):
        raise NotATime(
            _("%(time)s does not exist in %(zone)s: the clocks go forward over it.")
            % {"time": show(given), "zone": zone}
        )
    say = _("%(time)s comes twice in %(zone)s, since the clocks go back. Write %(one)s or %(two)s.")
    one, two = _with_offset(first), _with_offset(second)
    raise NotATime(say % {"time": show(given), "zone": zone, "one": one, "two": two})


def typed(instant: datetime, zone: str) -> str:
    """An instant as one would type it in a zone; with its offset where it would be ambiguous."""
    local = instant.astimezone(ZoneInfo(zone))
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        return _with_offset(local)
    return local.strftime(LOCAL)


def show(local: datetime) -> str:
    """Date and time without a zone."""
    return local.strftime("%Y-%m-%d %H:%M")


def _with_offset(local: datetime) -> str:
    return local.isoformat(timespec="minutes")
