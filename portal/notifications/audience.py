"""Whom a line of the audit chain concerns, by the roles of the moment it is read."""

from collections.abc import Iterable

from portal.common.models import AuditEvent
from portal.notifications.kinds import Audience
from portal.teams.models import Role, RoleAssignment, User
from portal.teams.selectors import Tree


class Crowd:
    """Everybody who holds a role, read once for a batch of lines."""

    def __init__(self, tree: Tree) -> None:
        self._paths = {row.id: row.path for row in tree.rows}
        held = RoleAssignment.objects.filter(user__is_active=True)
        self._held = list(held.values_list("user_id", "role", "team_id"))

    def concerned(self, event: AuditEvent, audience: Audience) -> set[int]:
        """Return ids of people to tell, without whoever did it, save for what is theirs alone."""
        if audience is Audience.SELF:
            return {event.target_id} if event.target_id else set()
        people = self._told(event, audience)
        people.discard(0 if event.actor_id is None else event.actor_id)
        return people

    def _told(self, event: AuditEvent, audience: Audience) -> set[int]:
        if audience is Audience.DECIDERS:
            return self._holding([Role.ADMIN], event.team_id)
        if audience is Audience.FOLLOWERS:
            return self._active(_followers(event))
        if audience is Audience.OVERSEERS:
            return self._holding([Role.ADMIN], None)
        leads = self._holding([Role.LEAD], event.team_id) if event.team_id else set()
        if audience is Audience.BILL:
            leads |= self._holding([Role.FINANCE], None)
        return leads

    def _holding(self, roles: Iterable[Role], team_id: int | None) -> set[int]:
        """Who holds one of the roles everywhere or, with a team, in it or a branch above it."""
        wanted, path = set(roles), self._paths.get(team_id, ()) if team_id is not None else ()
        return {
            user_id
            for user_id, role, held_in in self._held
            if role in wanted and held_in in {None, *path}
        }

    def _active(self, ids: set[int]) -> set[int]:
        return set(User.objects.filter(pk__in=ids, is_active=True).values_list("pk", flat=True))


def _followers(event: AuditEvent) -> set[int]:
    """Who did something to the same thing before."""
    before = AuditEvent.objects.filter(
        target_type=event.target_type, target_id=event.target_id, pk__lt=event.pk
    )
    return {actor for actor in before.values_list("actor_id", flat=True) if actor}
