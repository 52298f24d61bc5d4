"""Who may take the routes of this room: those who oversee the installation look, admins change.

Whoever works in a team may ask what would become of a job there.
"""

from portal.teams.permissions import DECIDE, OVERSEE, WORK, Rule, anywhere, organisation

_LOOK = organisation(read=OVERSEE)
_CHANGE = organisation(read=DECIDE, write=DECIDE)

RULES: dict[str, Rule] = {
    "kubernetes:clusters": _LOOK,
    "kubernetes:cluster": _LOOK,
    "kubernetes:log": _LOOK,
    "kubernetes:run": _LOOK,
    "kubernetes:jobs": _LOOK,
    "kubernetes:ray": _LOOK,
    "kubernetes:dry-run": _LOOK,
    "kubernetes:mode": _CHANGE,
    "kubernetes:pause": _CHANGE,
    "kubernetes:resume": _CHANGE,
    "kubernetes:undo": _CHANGE,
    "kubernetes:take-over": _CHANGE,
    "kubernetes:new-job": anywhere(read=WORK),
    "kubernetes:new-job-check": anywhere(read=WORK),
    "kubernetes:new-job-yaml": anywhere(read=WORK),
    "api-cluster-list": _LOOK,
    "api-cluster-detail": _LOOK,
    "api-drift-list": _LOOK,
    "api-sync-list": _LOOK,
    "api-sync-detail": _LOOK,
    "api-ask-list": _LOOK,
    "api-stop-list": _LOOK,
    "api-ray-list": _LOOK,
    "api-cluster-dry-run": _LOOK,
    "api-cluster-mode": _CHANGE,
    "api-cluster-pause": _CHANGE,
    "api-cluster-resume": _CHANGE,
    "api-cluster-undo": _CHANGE,
    "api-drift-take-over": _CHANGE,
    "api-job-check": anywhere(read=WORK, write=WORK),
}
