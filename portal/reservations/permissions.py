"""Who may take the routes of this room.

Blocks of the calendar are open to everyone with a role; the views leave out what is not. Ending
a reservation is for those who ask on its team's behalf.
"""

from collections.abc import Mapping

from portal.reservations.models import CalendarFeed, Reservation
from portal.teams.permissions import ASK, UNKNOWN, Rule, Unknown, anywhere, of_team


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a reservation belongs to."""
    found = Reservation.objects.filter(pk=int(str(kwargs["reservation_id"])))
    return next(iter(found.values_list("team_id", flat=True)), UNKNOWN)


def team_of_feed(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team whose calendar a feed is."""
    found = CalendarFeed.objects.filter(pk=int(str(kwargs["feed_id"])))
    return next(iter(found.values_list("team_id", flat=True)), UNKNOWN)


RULES: dict[str, Rule] = {
    "api-reservation-list": anywhere(),
    "api-reservation-detail": anywhere(),
    "api-reservation-cancel": of_team(team_of, read=ASK, write=ASK),
    "api-reservation-give-back": of_team(team_of, read=ASK, write=ASK),
}
