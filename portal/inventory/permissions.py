"""Who may take the routes of this room: GPU sums, team names and calendars are open to all."""

from portal.teams.permissions import Rule, anywhere

RULES: dict[str, Rule] = {
    "api-pool-list": anywhere(),
    "api-pool-detail": anywhere(),
    "api-pool-calendar": anywhere(),
    "api-node-list": anywhere(),
    "api-conflict-list": anywhere(),
}
