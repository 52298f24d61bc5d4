"""News as sentences, in the language of whoever reads them."""

from collections.abc import Mapping

from django.urls import reverse
from django.utils.translation import gettext as _

from portal.notifications.kinds import NEWS
from portal.notifications.models import Notification

PAGES = {
    "request": ("requests:detail", "request_id"),
    "statement": ("finance:statement", "statement_id"),
}


def sentence(row: Notification, *, people: Mapping[int, str], teams: Mapping[int, str]) -> str:
    """Return what happened, with names; an action that is no news any more stands as it is."""
    news = NEWS.get(row.action)
    if news is None:
        return row.action
    return _(news.sentence).format(
        actor=people.get(row.actor_id or 0) or _("The system"),
        team=teams.get(row.team_id or 0) or _("the organisation"),
        id=row.target_id,
    )


def page(row: Notification) -> str:
    """Return the address of the thing, or an empty one where it has no page of its own."""
    found = PAGES.get(row.target_type)
    return reverse(found[0], kwargs={found[1]: row.target_id}) if found and row.target_id else ""
