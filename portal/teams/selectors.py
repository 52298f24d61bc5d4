"""Reads of the tree, its people and what each of them may see."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.conf import settings
from django.db.models import FilteredRelation, Q, QuerySet

from portal.common import clock, pages
from portal.common.pages import once_a_page
from portal.teams.models import (
    ApiToken,
    Invitation,
    Organisation,
    Role,
    RoleAssignment,
    Team,
    TeamTerm,
    User,
)


@dataclass(frozen=True, slots=True)
class TeamRow:
    """One team as it stands at an instant; `path` holds the ids from the root down to itself."""

    id: int
    slug: str
    name: str
    hue: int
    parent_id: int | None
    weight: int
    priority: int
    path: tuple[int, ...]

    @property
    def depth(self) -> int:
        """0 for a team at the top."""
        return len(self.path) - 1


@dataclass(frozen=True, slots=True)
class Tree:
    """The team tree at an instant, parents before children, in order of creation."""

    rows: tuple[TeamRow, ...]

    def get(self, team_id: int) -> TeamRow | None:
        """One team, or None."""
        return next((row for row in self.rows if row.id == team_id), None)

    def branch(self, team_id: int) -> frozenset[int]:
        """This team and all below it."""
        return frozenset(row.id for row in self.rows if team_id in row.path)

    def path_name(self, team_id: int) -> str:
        """Names from the top down, such as `Research / Vision`."""
        row = self.get(team_id)
        names = {r.id: r.name for r in self.rows}
        return " / ".join(names[i] for i in row.path) if row else ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A role and the teams it reaches; `team_ids` None is the whole organisation."""

    role: Role
    team_ids: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Access:
    """What one person may reach: the only question every room asks before it shows or writes."""

    user_id: int | None
    grants: tuple[Grant, ...]

    def teams(self, roles: Iterable[Role]) -> frozenset[int] | None:
        """Ids of the teams in which one of these roles is held; None means all of them."""
        wanted = frozenset(roles)
        reached: set[int] = set()
        for grant in self.grants:
            if grant.role in wanted:
                if grant.team_ids is None:
                    return None
                reached |= grant.team_ids
        return frozenset(reached)

    def holds(self, roles: Iterable[Role], *, team_id: int | None = None) -> bool:
        """Whether one of these roles is held in this team or, without a team, everywhere."""
        teams = self.teams(roles)
        return teams is None or (team_id is not None and team_id in teams)

    def holds_anywhere(self, roles: Iterable[Role]) -> bool:
        """Whether one of these roles is held in any scope."""
        wanted = frozenset(roles)
        return any(grant.role in wanted for grant in self.grants)


NOBODY = Access(user_id=None, grants=())


@once_a_page
def get_organisation() -> Organisation:
    """The organisation; an unsaved one with defaults before it is set up.

    Every page asks for it first, so it brings the clock along.
    """
    found = Organisation.objects.filter(id=1).annotate(**clock.alongside()).first()
    if found is None:
        return new_organisation("Evenshare")
    clock.take(found)
    return found


def new_organisation(name: str) -> Organisation:
    """Give an unsaved organisation in the zone this installation is set to."""
    zone = settings.DEFAULT_ZONE
    return Organisation(id=1, name=name, zone=zone, billing_zone=zone)


@once_a_page
def get_tree(*, now: datetime) -> Tree:
    """The tree at an instant: one query, parents first; it brings every team's name along."""
    standing = Q(terms__valid_from__lte=now) & (
        Q(terms__valid_to__isnull=True) | Q(terms__valid_to__gt=now)
    )
    teams = Team.objects.annotate(term=FilteredRelation("terms", condition=standing))
    # The types know no relation that the query itself names.
    ordered = teams.select_related("term").order_by("created_at", "id")  # type: ignore[misc]
    found: list[Team] = list(ordered)
    pages.known(team_hues, {team.pk: (team.name, team.hue) for team in found})
    by_parent: dict[int | None, list[tuple[Team, TeamTerm]]] = {}
    for team in found:
        term: TeamTerm | None = getattr(team, "term", None)
        if term is not None:
            by_parent.setdefault(term.parent_id, []).append((team, term))
    rows: list[TeamRow] = []
    waiting: list[tuple[Team, TeamTerm, tuple[int, ...]]]
    waiting = [(*one, ()) for one in by_parent.get(None, [])]
    while waiting:
        team, term, above = waiting.pop(0)
        path = (*above, team.pk)
        rows.append(
            TeamRow(
                id=team.id, slug=team.slug, name=team.name, hue=team.hue, parent_id=term.parent_id,
                weight=term.weight, priority=term.priority, path=path,
            )
        )  # fmt: skip
        waiting += [(*child, path) for child in by_parent.get(team.pk, [])]
    return Tree(rows=tuple(rows))


def get_access(*, user_id: int | None, now: datetime) -> Access:
    """What this person may reach now: two queries."""
    if user_id is None:
        return NOBODY
    held = list(RoleAssignment.objects.filter(user_id=user_id))
    tree = get_tree(now=now) if any(a.team_id for a in held) else Tree(rows=())
    grants = tuple(
        Grant(role=Role(a.role), team_ids=None if a.team_id is None else tree.branch(a.team_id))
        for a in held
    )
    return Access(user_id=user_id, grants=grants)


def list_teams(access: Access, *, roles: Iterable[Role], tree: Tree) -> list[TeamRow]:
    """The teams in which one of these roles is held, in tree order."""
    ids = access.teams(roles)
    return [row for row in tree.rows if ids is None or row.id in ids]


def team_names() -> dict[int, str]:
    """Every team's name by id; names are open to the organisation."""
    return {team_id: name for team_id, (name, _hue) in team_hues().items()}


@once_a_page
def team_hues() -> dict[int, tuple[str, int]]:
    """Every team's name and hue by id, also of those that stand in the tree no more."""
    return {pk: (name, hue) for pk, name, hue in Team.objects.values_list("id", "name", "hue")}


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One API token, without what would open anything. Times are real time."""

    public_id: UUID
    name: str
    scopes: tuple[str, ...]
    created: datetime
    expiry: datetime | None
    last_used_on: date | None


def list_tokens(*, user_id: int, real_now: datetime) -> list[TokenRow]:
    """Return a person's tokens that still hold, newest first."""
    held = ApiToken.objects.filter(user_id=user_id).exclude(expiry__lte=real_now)
    return [
        TokenRow(t.public_id, t.name, tuple(t.scopes), t.created, t.expiry, t.last_used_on)
        for t in held
    ]


@dataclass(frozen=True, slots=True)
class Holding:
    """One role of one person; `team_id` None is the whole organisation."""

    assignment_id: int
    role: Role
    team_id: int | None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signs in, with the roles the reader may know of."""

    id: int
    username: str
    name: str
    is_active: bool
    last_login: datetime | None
    roles: tuple[Holding, ...]


def query_people(*, team_ids: frozenset[int] | None, words: str = "") -> QuerySet[User]:
    """Return those who hold a role in these teams, or with None everybody; by name."""
    people = User.objects.order_by("first_name", "username")
    if team_ids is not None:
        people = people.filter(role_assignments__team_id__in=team_ids).distinct()
    for word in words.split():
        people = people.filter(
            Q(username__icontains=word)
            | Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
        )
    return people


def list_people(users: Iterable[User], *, team_ids: frozenset[int] | None) -> list[Person]:
    """Return these people with their roles in these teams: one query for all."""
    rows = list(users)
    held = RoleAssignment.objects.filter(user__in=rows).order_by("role", "team_id")
    if team_ids is not None:
        held = held.filter(team_id__in=team_ids)
    by_user: dict[int, list[Holding]] = {}
    for one in held:
        by_user.setdefault(one.user_id, []).append(Holding(one.pk, Role(one.role), one.team_id))
    return [
        Person(u.pk, u.username, str(u), u.is_active, u.last_login, tuple(by_user.get(u.pk, ())))
        for u in rows
    ]


def list_invitations(*, team_ids: frozenset[int] | None, real_now: datetime) -> list[Invitation]:
    """Return the links still open in these teams, newest first; with None all."""
    rows = Invitation.objects.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=real_now)
    return list(rows if team_ids is None else rows.filter(team_id__in=team_ids))
