"""The rules of this room's routes."""

from portal.teams.permissions import Rule, signed_in

RULES: dict[str, Rule] = {
    "dashboards:home": signed_in(),
}
