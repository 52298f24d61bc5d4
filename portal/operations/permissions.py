"""Rules of the room's routes."""

from portal.teams.permissions import DECIDE, Rule, organisation, public, signed_in

RULES: dict[str, Rule] = {
    "healthz": public(),
    "readyz": public(),
    # Its own rule: machines have no account. See `metrics.may_read`.
    "metrics": public(),
    "person-forget": organisation(read=DECIDE, write=DECIDE),
    "person-export": organisation(read=DECIDE, write=DECIDE),
    "reference": signed_in(),
    "reference-room": signed_in(),
    "api-openapi-json": signed_in(),
    "api-openapi-yaml": signed_in(),
}
