"""Rules of the room's routes."""

from portal.teams.permissions import Rule, public, signed_in

RULES: dict[str, Rule] = {
    "healthz": public(),
    "readyz": public(),
    # Its own rule: machines have no account. See `metrics.may_read`.
    "metrics": public(),
    "reference": signed_in(),
    "reference-room": signed_in(),
    "api-openapi-json": signed_in(),
    "api-openapi-yaml": signed_in(),
}
