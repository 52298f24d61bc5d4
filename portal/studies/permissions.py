"""Who may take the routes of this room.

Admins run studies: of the whole organisation, or of a branch, whose studies are then shared with
that branch. Whoever works in the team a study is shared with reads it; those who oversee the
organisation read all. Uploaded traces are for those who may run something on them.
"""

from collections.abc import Mapping

from portal.studies import selectors
from portal.teams.permissions import (
    DECIDE,
    UNKNOWN,
    WORK,
    Rule,
    Unknown,
    anywhere,
    of_team,
    organisation,
)


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a study is shared with."""
    known, team_id = selectors.team_of_study(study_id=int(str(kwargs["study_id"])))
    return team_id if known else UNKNOWN


_LOOK = of_team(team_of, read=WORK)
_CHANGE = of_team(team_of, read=DECIDE, write=DECIDE)
_RUN = anywhere(read=DECIDE, write=DECIDE)

RULES: dict[str, Rule] = {
    "studies:list": anywhere(read=WORK),
    "studies:new": _RUN,
    "studies:study": _LOOK,
    "studies:figures": _LOOK,
    "studies:describe": _CHANGE,
    "studies:cancel": _CHANGE,
    "studies:again": _CHANGE,
    "studies:delete": _CHANGE,
    "studies:traces": _RUN,
    "studies:upload": _RUN,
    "studies:delete-trace": organisation(read=DECIDE, write=DECIDE),
    "api-study-list": anywhere(read=WORK, write=DECIDE),
    "api-study-detail": of_team(team_of, read=WORK, write=DECIDE),
    "api-study-cancel": _CHANGE,
    "api-study-again": _CHANGE,
    "api-trace-list": _RUN,
    "api-trace-detail": organisation(read=DECIDE, write=DECIDE),
}
