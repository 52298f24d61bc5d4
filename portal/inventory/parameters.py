"""What an API address carries behind its question mark, read the same way in every room."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from rest_framework.request import Request

from portal.common import zones
from portal.common.errors import Invalid
from portal.inventory.calendar import Period


def whole(request: Request, name: str) -> int | None:
    """A whole number, or None where it is not given. Raises `Invalid`."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _fault(name, _("Give a whole number."))
    return int(text)


def instant(request: Request, name: str) -> datetime | None:
    """A time with its offset, such as 2026-11-02T09:00:00+09:00. Raises `Invalid`."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        # An unescaped plus in an address arrives as a space.
        found = parse_datetime(text.strip().replace(" ", "+"))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or found.year not in zones.YEARS:
        raise _fault(name, _("Give a time with its offset, such as 2026-11-02T09:00:00+09:00."))
    return found


def one_of(request: Request, name: str, words: Iterable[str]) -> str | None:
    """One of a few words, or None where it is not given. Raises `Invalid`."""
    text = request.query_params.get(name, "")
    known = list(words)
    if text and text not in known:
        raise _fault(name, _("Give one of: %(words)s.") % {"words": ", ".join(known)})
    return text or None


def window(request: Request, *, now: datetime, default: timedelta, longest: timedelta) -> Period:
    """`from` and `to`, the first by default now, the second so much later. Raises `Invalid`."""
    from_at = instant(request, "from") or now
    to_at = instant(request, "to") or from_at + default
    if to_at <= from_at:
        raise _fault("to", _("It is not after the beginning."))
    if to_at - from_at > longest:
        raise _fault("to", _("It is more than %(days)d days later.") % {"days": longest.days})
    return Period(from_at, to_at)


def _fault(name: str, what: str) -> Invalid:
    return Invalid(_("The address has faults."), fields={name: what})
