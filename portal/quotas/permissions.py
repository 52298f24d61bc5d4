"""Who may take the routes of this room: figures of whole teams are open to all."""

from portal.teams.permissions import Rule, anywhere

RULES: dict[str, Rule] = {"api-quota-list": anywhere()}
