"""Who may take the routes of this room.

Tiers and whose they are stand open to the organisation, as quotas do; admins set them. What was
late names jobs, so it is read by those who see the team's work, and answered for by its leads.
"""

from collections.abc import Mapping

from portal.slas.models import Breach
from portal.teams.permissions import (
    ASK,
    DECIDE,
    UNKNOWN,
    WORK,
    Rule,
    Unknown,
    anywhere,
    of_team,
    organisation,
)


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team that waited too long."""
    found = Breach.objects.filter(pk=str(kwargs["breach_id"])).values_list("team_id", flat=True)
    return next(iter(found), UNKNOWN)


RULES: dict[str, Rule] = {
    "api-tier-list": anywhere(),
    "api-tier-create": organisation(read=DECIDE, write=DECIDE),
    "api-tier-retire": organisation(read=DECIDE, write=DECIDE),
    "api-sla-list": anywhere(write=DECIDE),
    "api-attainment-list": anywhere(),
    "api-breach-list": anywhere(read=WORK),
    "api-breach-acknowledge": of_team(team_of, read=ASK, write=ASK),
}
