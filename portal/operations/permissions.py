"""Rules of the room's routes."""

from portal.teams.permissions import Rule, public

RULES: dict[str, Rule] = {
    "healthz": public(),
    "readyz": public(),
    # Its own rule: machines have no account. See `metrics.may_read`.
    "metrics": public(),
}
