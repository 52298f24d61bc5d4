"""Where months begin and end, and what they are called.

Months are cut in the organisation's billing zone. Should that zone be changed, the month under way
still begins where the last one ended: no hour is billed twice and none is left out.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q, Sum
from django.utils.translation import gettext as _

from portal.common import zones
from portal.common.errors import Invalid
from portal.common.pages import once_a_page
from portal.finance.models import Month, Statement
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
def list_all() -> tuple[Month, ...]:
    """Every month that has a row, newest first, with what it bills; they are few."""
    standing = Q(statements__superseded_at__isnull=True)
    billed = Sum("statements__total_micro", filter=standing, default=0)
    return tuple(Month.objects.annotate(billed_micro=billed))


def tell_billed(month: Month, statements: Iterable[Statement]) -> None:
    """Keep with a month what its statements, all of them, come to."""
    billed = sum(one.total_micro for one in statements if one.superseded_at is None)
    vars(month)["billed_micro"] = billed


def billed_micro(month: Month) -> int:
    """What the statements of a month that stand come to."""
    known: int | None = getattr(month, "billed_micro", None)
    if known is not None:
        return known
    standing = month.statements.filter(superseded_at__isnull=True)
    return sum(standing.values_list("total_micro", flat=True))


@once_a_page
def find(instant: datetime) -> Month:
    """The month that holds this instant: its row, or one that is not saved yet."""
    row = next((m for m in list_all() if m.starts_at <= instant < m.ends_at), None)
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
