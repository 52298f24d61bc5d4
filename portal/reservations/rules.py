"""What a pool asks of its reservations, and whether one keeps to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from portal.common import formats
from portal.common.errors import Conflict
from portal.common.pages import once_a_page
from portal.reservations.models import BookingRule, Reservation
from portal.reservations.selectors import TOOK_PLACE

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
FIGURES = ("longest_hours", "ahead_days", "extension_hours", "rest_hours", "grace_minutes")


@dataclass(frozen=True, slots=True)
class Rules:
    """A pool's rules; None asks nothing."""

    longest_hours: int | None = None
    ahead_days: int | None = None
    extension_hours: int | None = None
    rest_hours: int | None = None
    grace_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """One rule a reservation breaks: its code, the input at fault, and a sentence."""

    code: str
    field: str
    say: str


@once_a_page
def get_rules(*, pool_id: int) -> Rules:
    """The rules of a pool; without any, none asks anything."""
    row = BookingRule.objects.filter(pool_id=pool_id).first()
    return Rules() if row is None else _of(row)


def list_rules() -> dict[int, Rules]:
    """The rules by pool, of those that have any."""
    return {row.pool_id: _of(row) for row in BookingRule.objects.all()}


def _of(row: BookingRule) -> Rules:
    return Rules(**{name: getattr(row, name) for name in FIGURES})


def list_broken(
    *,
    team_id: int,
    pool_id: int,
    starts_at: datetime,
    ends_at: datetime,
    now: datetime,
    without: int | None = None,
) -> list[Broken]:
    """The rules a reservation would break; `without` is one it takes the place of."""
    rules = get_rules(pool_id=pool_id)
    found = [*_too_long(rules, starts_at, ends_at), *_too_early(rules, starts_at, now)]
    if rules.rest_hours is not None:
        found += _stacked(rules.rest_hours, team_id, pool_id, starts_at, ends_at, without)
    return found


def list_broken_by_extension(*, row: Reservation, ends_at: datetime, now: datetime) -> list[Broken]:
    """The rules a later end of a reservation would break."""
    rules = get_rules(pool_id=row.pool_id)
    found = list(_too_long(rules, row.starts_at, ends_at))
    hours = rules.extension_hours
    if hours is not None and now < row.ends_at - hours * HOUR:
        say = _(
            "A reservation of this pool is extended in its last %(hours)s hours, from %(when)s on."
        )
        words = {"hours": hours, "when": formats.when(row.ends_at - hours * HOUR)}
        found.append(Broken("extended_too_early", "ends_at", say % words))
    if rules.rest_hours is not None:
        found += _stacked(
            rules.rest_hours, row.team_id, row.pool_id, row.starts_at, ends_at, row.pk
        )
    return found


def refuse_broken(broken: list[Broken]) -> None:
    """Raise the first broken rule as a `Conflict`, every one beside its input."""
    if broken:
        fields: dict[str, str] = {}
        for rule in broken:
            fields[rule.field] = f"{fields.get(rule.field, '')} {rule.say}".strip()
        raise Conflict(broken[0].say, code=broken[0].code, fields=fields)


def _too_long(rules: Rules, starts_at: datetime, ends_at: datetime) -> Iterator[Broken]:
    if rules.longest_hours is not None and ends_at - starts_at > rules.longest_hours * HOUR:
        say = _("A reservation of this pool lasts at most %(hours)s hours.")
        yield Broken("too_long", "ends_at", say % {"hours": rules.longest_hours})


def _too_early(rules: Rules, starts_at: datetime, now: datetime) -> Iterator[Broken]:
    if rules.ahead_days is not None and starts_at > now + rules.ahead_days * DAY:
        say = _("This pool is booked at most %(days)s days ahead: it can begin until %(when)s.")
        words = {"days": rules.ahead_days, "when": formats.when(now + rules.ahead_days * DAY)}
        yield Broken("too_early", "starts_at", say % words)


def _stacked(
    rest_hours: int,
    team_id: int,
    pool_id: int,
    starts_at: datetime,
    ends_at: datetime,
    without: int | None,
) -> Iterator[Broken]:
    """Another of the team's that lies too near."""
    rest = rest_hours * HOUR
    near = Reservation.objects.filter(
        team_id=team_id, pool_id=pool_id, state__in=TOOK_PLACE, starts_at__lte=ends_at + rest,
        ends_at__gte=starts_at - rest,
    )  # fmt: skip
    if without is not None:
        near = near.exclude(pk=without)
    for row in near.order_by("starts_at", "id"):
        apart = max(row.starts_at - ends_at, starts_at - row.ends_at)
        if apart < rest or apart <= timedelta():
            say = _(
                "R-%(id)s of the same team is too near: %(hours)s hours have to pass between two."
            )
            yield Broken("stacked", "starts_at", say % {"id": row.pk, "hours": rest_hours})
            return
