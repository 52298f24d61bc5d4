"""Who may take the routes of this room.

The queue, ticks and shares are open to everyone with a role: the selectors leave out names that
are not for the reader. A workload is for those who work in its branch. A snapshot holds every
team's work of a cluster, so only those who oversee the whole organisation take it.
"""

from collections.abc import Mapping

from portal.scheduling import selectors
from portal.teams.permissions import (
    DECIDE,
    OVERSEE,
    UNKNOWN,
    WORK,
    Rule,
    Unknown,
    anywhere,
    of_team,
    organisation,
)


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team a workload belongs to."""
    known, team_id = selectors.team_of_workload(workload_id=int(str(kwargs["workload_id"])))
    return team_id if known else UNKNOWN


RULES: dict[str, Rule] = {
    "api-workload-list": anywhere(),
    "api-workload-detail": of_team(team_of, read=WORK),
    "api-workload-decisions": of_team(team_of, read=WORK),
    "api-tick-list": anywhere(),
    "api-tick-detail": anywhere(),
    "api-tick-snapshot": organisation(read=OVERSEE),
    "api-share-list": anywhere(),
    "api-loan-list": anywhere(),
    "api-forecast-list": anywhere(),
    "api-wait-list": anywhere(),
    "api-policy-detail": organisation(read=OVERSEE, write=DECIDE),
    "api-policy-dry-run": organisation(read=DECIDE, write=DECIDE),
    "api-policy-history": organisation(read=OVERSEE),
    "api-policy-undo": organisation(read=DECIDE, write=DECIDE),
    "scheduling:policy": organisation(read=OVERSEE),
    "scheduling:edit-policy": organisation(read=DECIDE, write=DECIDE),
    "scheduling:undo-policy": organisation(read=DECIDE, write=DECIDE),
}
