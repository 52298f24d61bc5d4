"""Who may take the routes of this room: everybody with a role, each for the teams it reaches.

Measurements are brought by whoever runs the clusters."""

from portal.teams.permissions import DECIDE, OVERSEE, Rule, anywhere, organisation

RULES: dict[str, Rule] = {
    "api-usage-list": anywhere(),
    "api-usage-breakdown-list": anywhere(),
    "api-usage-measured-list": organisation(read=frozenset(), write=DECIDE),
    "usage:monitoring": organisation(read=OVERSEE, write=DECIDE),
    "api-monitoring-detail": organisation(read=OVERSEE, write=DECIDE),
}
