"""Who may take the routes of this room; `teams.permissions` decides.

A request is read by whoever holds a role in its team; what it costs only by those who may see
cost, which the pages ask themselves. The calendar is open to everyone with a role.
"""

from collections.abc import Mapping

from portal.quotas import permissions as quotas
from portal.requests.models import Request
from portal.reservations import permissions as reservations
from portal.slas import permissions as slas
from portal.teams.models import Team
from portal.teams.permissions import (
    ANY_ROLE,
    ASK,
    DECIDE,
    UNKNOWN,
    Rule,
    Unknown,
    anywhere,
    of_team,
    organisation,
    public,
)


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a request belongs to."""
    found = Request.objects.filter(pk=str(kwargs["request_id"])).values_list("team_id", flat=True)
    return next(iter(found), UNKNOWN)


def team_named(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team an address names."""
    found = Team.objects.filter(pk=str(kwargs["team_id"])).values_list("pk", flat=True)
    return next(iter(found), UNKNOWN)


_READ = of_team(team_of, read=ANY_ROLE)
_ASK = of_team(team_of, read=ASK, write=ASK)
_DECIDE = of_team(team_of, read=DECIDE, write=DECIDE)
_TALK = of_team(team_of, read=ANY_ROLE, write=ANY_ROLE)

RULES: dict[str, Rule] = {
    "requests:reserve": anywhere(write=ASK),
    "requests:check": anywhere(read=ASK),
    "requests:quota": anywhere(read=ASK, write=ASK),
    "requests:extension": anywhere(read=ASK, write=ASK),
    "requests:give-back": anywhere(read=ASK, write=ASK),
    "requests:sla": anywhere(read=ASK, write=ASK),
    "requests:list": anywhere(),
    "requests:detail": _READ,
    "requests:edit": _ASK,
    "requests:submit": _ASK,
    "requests:cancel": _ASK,
    "requests:approve": _DECIDE,
    "requests:reject": _DECIDE,
    "requests:release": _ASK,
    "requests:comment": _TALK,
    "requests:maintenance": anywhere(),
    "requests:maintenance-plan": organisation(read=DECIDE, write=DECIDE),
    "requests:maintenance-effects": organisation(read=DECIDE, write=DECIDE),
    "api-maintenance-effects": organisation(read=DECIDE, write=DECIDE),
    "requests:maintenance-cancel": organisation(read=DECIDE, write=DECIDE),
    "requests:my-feeds": anywhere(read=ASK),
    "requests:feeds": of_team(team_named, read=ASK, write=ASK),
    "requests:feed-revoke": of_team(reservations.team_of_feed, read=ASK, write=ASK),
    "api-feed-list": of_team(team_named, read=ASK, write=ASK),
    "api-feed-revoke": of_team(reservations.team_of_feed, read=ASK, write=ASK),
    "requests:calendar": public(),
    "requests:rules": anywhere(),
    "requests:rules-save": organisation(read=DECIDE, write=DECIDE),
    "api-rule-list": anywhere(),
    "api-rule-approvals": organisation(read=DECIDE, write=DECIDE),
    "api-rule-drop": organisation(read=DECIDE, write=DECIDE),
    "api-rule-pool": organisation(read=DECIDE, write=DECIDE),
    "api-rule-class": organisation(read=DECIDE, write=DECIDE),
    "requests:slas": anywhere(),
    "requests:sla-set": anywhere(read=DECIDE, write=DECIDE),
    "requests:tiers": organisation(read=DECIDE, write=DECIDE),
    "requests:breach": of_team(slas.team_of, read=ASK, write=ASK),
    "requests:quotas": anywhere(),
    "requests:quota-pool": anywhere(read=DECIDE, write=DECIDE),
    "requests:quota-effects": anywhere(read=DECIDE, write=DECIDE),
    "requests:quota-history": of_team(team_named, read=ANY_ROLE),
    "requests:quota-undo": of_team(quotas.team_of, read=DECIDE, write=DECIDE),
    "api-quota-effects": anywhere(read=DECIDE, write=DECIDE),
    "api-request-list": anywhere(write=ASK),
    "api-request-check": anywhere(read=ASK, write=ASK),
    "api-request-detail": of_team(team_of, read=ANY_ROLE, write=ASK),
    "api-request-submit": _ASK,
    "api-request-cancel": _ASK,
    "api-request-approve": _DECIDE,
    "api-request-reject": _DECIDE,
    "api-request-comments": _TALK,
}
