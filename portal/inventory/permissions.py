"""Who may take the routes of this room: GPU sums, team names and calendars are open to all.

Admins of the organisation plan work on its machines.
"""

from portal.teams.permissions import DECIDE, Rule, anywhere, organisation

RULES: dict[str, Rule] = {
    "api-pool-list": anywhere(),
    "api-pool-detail": anywhere(),
    "api-pool-calendar": anywhere(),
    "api-node-list": anywhere(),
    "api-conflict-list": anywhere(),
    "api-maintenance-list": anywhere(),
    "api-maintenance-plan": organisation(read=DECIDE, write=DECIDE),
    "api-maintenance-cancel": organisation(read=DECIDE, write=DECIDE),
}
