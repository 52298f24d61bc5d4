"""Who may take the routes of this room: figures of whole teams are open to all, admins set them."""

from collections.abc import Mapping

from portal.quotas.models import Quota
from portal.teams.permissions import DECIDE, UNKNOWN, Rule, Unknown, anywhere, of_team


def team_of(kwargs: Mapping[str, object]) -> int | Unknown | None:
    """The team whose figures a change is about."""
    found = Quota.objects.filter(pk=str(kwargs["quota_id"])).values_list("team_id", flat=True)
    return next(iter(found), UNKNOWN)


RULES: dict[str, Rule] = {
    "api-quota-list": anywhere(write=DECIDE),
    "api-quota-history": anywhere(),
    "api-over-limit-list": anywhere(),
    "api-quota-undo": of_team(team_of, read=DECIDE, write=DECIDE),
}
