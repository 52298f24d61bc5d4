"""Who may take the routes of this room: everybody with a role, each for the teams it reaches."""

from portal.teams.permissions import Rule, anywhere

RULES: dict[str, Rule] = {"api-usage-list": anywhere()}
