"""Where months begin and end, and what they are called.

Months are cut in the organisation's billing zone. Should that zone be changed, the month under way
still begins where the last one ended: no hour is billed twice and none is left out.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from portal.common import zones
from portal.common.errors import Invalid
from portal.common.pages import once_a_page
from portal.finance.models import Month
from portal.teams import selectors as teams

_ZONES_DIFFER = timedelta(days=2)
"""More than any two zones can differ."""


def parse(name: str) -> datetime:
    """An instant inside the month of this name, such as 2026-11. Raises `Invalid`."""
    try:
        first = datetime.strptime(name, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        first = datetime.min.replace(tzinfo=UTC)
    if first.year not in zones.YEARS:
        fault = _("Write a month as year and month, such as 2026-11.")
        raise Invalid(fault, fields={"month": fault})
    return first + timedelta(days=14)


def name_of(instant: datetime, zone: str) -> str:
    """What the month of this instant is called in a zone."""
    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m}"


@once_a_page
def find(instant: datetime) -> Month:
    """The month that holds this instant: its row, or one that is not saved yet."""
    row = Month.objects.filter(starts_at__lte=instant, ends_at__gt=instant).first()
    if row is not None:
        return row
    zone = teams.get_organisation().billing_zone
    starts_at, ends_at = zones.month_of(instant, zone)
    namesake = Month.objects.filter(name=name_of(starts_at, zone)).first()
    if namesake is not None:
        beside = ends_at if instant >= namesake.ends_at else starts_at - timedelta(seconds=1)
        starts_at, ends_at = zones.month_of(beside, zone)
    name = name_of(starts_at, zone)
    before = Month.objects.filter(starts_at__lte=instant).first()
    after = Month.objects.filter(starts_at__gt=instant).last()
    if before is not None and abs(before.ends_at - starts_at) < _ZONES_DIFFER:
        starts_at = before.ends_at
    if after is not None and abs(after.starts_at - ends_at) < _ZONES_DIFFER:
        ends_at = after.starts_at
    return Month(name=name, starts_at=starts_at, ends_at=ends_at, zone=zone)
