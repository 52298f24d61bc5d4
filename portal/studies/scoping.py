"""With whom a person may share a study, and whom it is shared with if they do not say."""

from django.utils.translation import gettext as _

from portal.common.errors import Invalid
from portal.teams.permissions import DECIDE
from portal.teams.selectors import Access, TeamRow, Tree


def teams_to_share(access: Access, tree: Tree) -> list[TeamRow]:
    """The teams a person may share with, in tree order."""
    ids = access.teams(DECIDE)
    return [row for row in tree.rows if ids is None or row.id in ids]


def may_keep_private(access: Access) -> bool:
    """Whether a study of theirs may be for those alone who oversee everything."""
    return access.holds(DECIDE)


def team_for(access: Access, tree: Tree, team_id: int | None) -> int | None:
    """The team a study is shared with. Raises `Invalid` for one that is not theirs to share with.

    An admin of a branch shares with the top of it unless they say otherwise: nobody else of theirs
    could read it.
    """
    if team_id is None:
        if may_keep_private(access):
            return None
        return next(row.id for row in teams_to_share(access, tree))
    if tree.get(team_id) is None or not access.holds(DECIDE, team_id=team_id):
        told = _("You may not share with this team.")
        raise Invalid(told, fields={"team": told})
    return team_id
