"""A team's reservations as an iCalendar feed (RFC 5545), under a token that can be revoked."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Invalid, Missing
from portal.inventory import selectors as inventory
from portal.reservations.models import CalendarFeed, Reservation, ReservationState
from portal.reservations.selectors import TOOK_PLACE
from portal.teams.models import Team

BEHIND, AHEAD = timedelta(days=31), timedelta(days=366)
OCTETS = 75
MOST = 20


@transaction.atomic
def open_feed(
    *, team_id: int, name: str, actor_id: int | None, now: datetime
) -> tuple[CalendarFeed, str]:
    """Open a feed and give its token, which is shown this once and kept nowhere."""
    text = name.strip()
    if not text or len(text) > 60:
        say = _("Give a name of at most 60 characters.")
        raise Invalid(say, fields={"name": say})
    if not Team.objects.select_for_update(no_key=True).filter(pk=team_id).exists():
        raise Missing
    if CalendarFeed.objects.filter(team_id=team_id, revoked_at__isnull=True).count() >= MOST:
        say = _("A team has at most %(most)s calendar feeds. Revoke one first.") % {"most": MOST}
        raise Invalid(say, fields={"name": say})
    token = secrets.token_urlsafe(32)
    feed = CalendarFeed.objects.create(
        team_id=team_id, name=text, digest=_digest(token), created_by_id=actor_id, created_at=now
    )
    _record("reservations.feed_opened", feed, actor_id)
    return feed, token


@transaction.atomic
def revoke_feed(*, feed_id: int, actor_id: int | None, now: datetime) -> None:
    """Let a feed's address lead nowhere any more; twice is once."""
    feed = CalendarFeed.objects.filter(pk=feed_id).first()
    if feed is None:
        raise Missing
    open_now = CalendarFeed.objects.filter(pk=feed_id, revoked_at__isnull=True)
    if open_now.update(revoked_at=now):
        _record("reservations.feed_revoked", feed, actor_id)


def list_feeds(*, team_id: int) -> list[CalendarFeed]:
    """A team's feeds that are not revoked, the newest first."""
    return list(CalendarFeed.objects.filter(team_id=team_id, revoked_at__isnull=True))


def get_calendar(*, token: str, now: datetime) -> str:
    """The calendar behind a token. Raises `Missing` for one that is unknown or revoked."""
    feed = CalendarFeed.objects.filter(digest=_digest(token), revoked_at__isnull=True)
    row = feed.select_related("team").first()
    if row is None:
        raise Missing
    held = Reservation.objects.filter(
        team_id=row.team_id, state__in=TOOK_PLACE, ends_at__gt=now - BEHIND,
        starts_at__lt=now + AHEAD,
    ).order_by("starts_at", "id")  # fmt: skip
    pools = inventory.pool_names()
    lines = [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Evenshare//Reservations//EN",
        "CALSCALE:GREGORIAN", "METHOD:PUBLISH", f"X-WR-CALNAME:{_text(row.team.name)}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT15M",
    ]  # fmt: skip
    for one in held:
        lines += _event(one, pools.get(one.pool_id, ""), now)
    lines.append("END:VCALENDAR")
    return "".join(f"{part}\r\n" for line in lines for part in _folded(line))


def _event(row: Reservation, pool: str, now: datetime) -> Iterable[str]:
    state = str(ReservationState(row.state).label)
    what = _("%(gpus)s GPUs of %(pool)s (R-%(id)s)") % {
        "gpus": row.gpus, "pool": pool, "id": row.pk
    }  # fmt: skip
    yield from (
        "BEGIN:VEVENT", f"UID:reservation-{row.pk}@evenshare", f"DTSTAMP:{_instant(now)}",
        f"DTSTART:{_instant(row.starts_at)}", f"DTEND:{_instant(row.ends_at)}",
        f"SUMMARY:{_text(what)}", f"DESCRIPTION:{_text(f'{state}. {row.purpose}')}",
        "STATUS:CONFIRMED", "TRANSP:TRANSPARENT", "END:VEVENT",
    )  # fmt: skip


def _instant(at: datetime) -> str:
    """UTC, so that every client shows it right on its own clocks."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _text(text: str) -> str:
    """Text as the format takes it."""
    for char in ("\\", ";", ","):
        text = text.replace(char, f"\\{char}")
    return text.replace("\r", "").replace("\n", "\\n")


def _folded(line: str) -> Iterable[str]:
    """A line in pieces of at most 75 octets, never within a character."""
    piece, size = "", 0
    for char in line:
        width = len(char.encode())
        if size + width > OCTETS:
            yield piece
            piece, size = " ", 1
        piece, size = piece + char, size + width
    yield piece


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _record(action: str, feed: CalendarFeed, actor_id: int | None) -> None:
    audit.record(
        actor_id=actor_id, action=action, target_type="calendar_feed", target_id=feed.pk,
        team_id=feed.team_id, data={"name": feed.name},
    )  # fmt: skip
