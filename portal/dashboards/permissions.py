"""The rules of this room's routes."""

from portal.dashboards.selectors import workload
from portal.teams.permissions import (
    OVERSEE,
    WORK,
    Rule,
    anywhere,
    of_team,
    organisation,
    signed_in,
)

RULES: dict[str, Rule] = {
    "dashboards:home": signed_in(),
    "dashboards:queue": anywhere(read=WORK),
    "dashboards:workload": of_team(workload.team_of, read=WORK),
    "dashboards:snapshot": organisation(read=OVERSEE),
    "dashboards:capacity": anywhere(),
    "dashboards:fairness": anywhere(),
    "api-fairness-list": anywhere(),
    "api-fairness-history": anywhere(),
    "api-fairness-pairs": anywhere(),
    "api-fairness-waits": anywhere(),
    "api-fairness-starving": anywhere(),
    "dashboards:usage": anywhere(),
    "dashboards:audit": anywhere(read=OVERSEE),
    "api-audit-list": anywhere(read=OVERSEE),
    "dashboards:style": signed_in(),
}
