"""Writes about teams, people and roles, each with its audit line."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction
from django.utils.translation import gettext as _

from portal.common import audit, isolation
from portal.common.errors import Conflict, Invalid
from portal.teams import selectors, tokens
from portal.teams.models import (
    ApiToken,
    GroupRule,
    Organisation,
    Role,
    RoleAssignment,
    Team,
    TeamTerm,
    User,
)


@transaction.atomic
def create_team(
    *,
    slug: str,
    name: str,
    parent_id: int | None,
    now: datetime,
    actor_id: int | None,
    weight: int = 1,
    priority: int = 0,
    cost_centre: str = "",
    hue: int = 1,
    runtime_class: str = "",
) -> Team:
    """Add a team to the tree from `now` on."""
    team = Team.objects.create(
        slug=slug, name=name, cost_centre=cost_centre, hue=hue, created_at=now,
        runtime_class=isolation.checked(runtime_class),
    )  # fmt: skip
    TeamTerm.objects.create(
        team=team, parent_id=parent_id, weight=weight, priority=priority, valid_from=now
    )
    audit.record(
        actor_id=actor_id, action="teams.created", target_type="team", target_id=team.pk,
        team_id=team.pk, data={"slug": slug, "parent": parent_id, "weight": weight},
    )  # fmt: skip
    return team


@transaction.atomic
def move_team(
    *,
    team_id: int,
    parent_id: int | None,
    weight: int,
    priority: int,
    now: datetime,
    actor_id: int | None,
) -> TeamTerm:
    """Put a team elsewhere in the tree, or weigh it anew, from `now` on.

    Raises `Invalid` when the new parent stands below the team, `Conflict` when the team has no
    open term or one that begins only later.
    """
    if parent_id is not None and parent_id in selectors.get_tree(now=now).branch(team_id):
        raise Invalid("A team cannot stand below itself.", fields={"parent": "below the team"})
    closed = TeamTerm.objects.filter(
        team_id=team_id, valid_to__isnull=True, valid_from__lt=now
    ).update(valid_to=now)
    if not closed:
        raise Conflict("The team's place was changed meanwhile.")
    term = TeamTerm.objects.create(
        team_id=team_id, parent_id=parent_id, weight=weight, priority=priority, valid_from=now
    )
    audit.record(
        actor_id=actor_id, action="teams.moved", target_type="team", target_id=team_id,
        team_id=team_id, data={"parent": parent_id, "weight": weight, "priority": priority},
    )  # fmt: skip
    return term


@transaction.atomic
def grant_role(
    *, user_id: int, role: Role, team_id: int | None, now: datetime, actor_id: int | None,
    by_group: bool = False,
) -> RoleAssignment:  # fmt: skip
    """Let somebody hold a role in a branch, or without a team everywhere; twice is once.

    An admin of the organisation may also use the admin site, and nobody else may.
    """
    team = None if team_id is None else Team.objects.get(pk=team_id)
    assignment, new = RoleAssignment.objects.get_or_create(
        user_id=user_id, role=role, team=team, defaults={"created_at": now, "by_group": by_group}
    )
    if new:
        _open_admin_site(user_id)
        audit.record(
            actor_id=actor_id, action="teams.role_granted", target_type="user", target_id=user_id,
            team_id=team_id, data={"role": role.value} | ({"by_group": True} if by_group else {}),
        )  # fmt: skip
    return assignment


@transaction.atomic
def revoke_role(*, assignment_id: int, actor_id: int | None) -> None:
    """Take a role back. Raises `Conflict` for the organisation's last admin."""
    everywhere = RoleAssignment.objects.select_for_update(no_key=True).filter(
        role=Role.ADMIN, team=None
    )
    admins = {a.pk for a in everywhere}
    if admins == {assignment_id}:
        raise Conflict("This is the last admin of the organisation.", code="last_admin")
    held = RoleAssignment.objects.filter(pk=assignment_id).first()
    if held is None:
        return
    held.delete()
    _open_admin_site(held.user_id)
    audit.record(
        actor_id=actor_id, action="teams.role_revoked", target_type="user", target_id=held.user_id,
        team_id=held.team_id, data={"role": held.role},
    )  # fmt: skip


def _open_admin_site(user_id: int) -> None:
    """Let the admin site be open to just the organisation's admins."""
    admin = RoleAssignment.objects.filter(user_id=user_id, role=Role.ADMIN, team=None).exists()
    User.objects.filter(pk=user_id).update(is_staff=admin, is_superuser=admin)


@transaction.atomic
def create_user(
    *, username: str, first_name: str, last_name: str, email: str, password: str,
    actor_id: int | None,
) -> User:  # fmt: skip
    """Add a person who may sign in with this password; roles are granted apart."""
    user = User.objects.create_user(
        username=username, email=email, password=password, first_name=first_name,
        last_name=last_name,
    )  # fmt: skip
    audit.record(
        actor_id=actor_id, action="teams.user_created", target_type="user", target_id=user.pk
    )
    return user


@transaction.atomic
def change_user(
    *, user_id: int, first_name: str, last_name: str, email: str, is_active: bool,
    actor_id: int | None,
) -> None:  # fmt: skip
    """Change how a person is called and reached, or shut them out; the last admin stays in."""
    admins = RoleAssignment.objects.select_for_update(no_key=True).filter(
        role=Role.ADMIN, team=None
    )
    left = {a.user_id for a in admins.filter(user__is_active=True)} - {user_id}
    if not is_active and not left:
        raise Conflict("This is the last admin of the organisation.", code="last_admin")
    User.objects.filter(pk=user_id).update(
        first_name=first_name, last_name=last_name, email=email, is_active=is_active
    )
    audit.record(
        actor_id=actor_id, action="teams.user_changed", target_type="user", target_id=user_id,
        data={"active": is_active},
    )  # fmt: skip


@transaction.atomic
def change_organisation(
    *, name: str, zone: str, billing_zone: str, currency: str, actor_id: int | None
) -> None:
    """Name the organisation, its zones and its currency."""
    Organisation.objects.update_or_create(
        id=1,
        defaults={"name": name, "zone": zone, "billing_zone": billing_zone, "currency": currency},
    )
    audit.record(
        actor_id=actor_id, action="teams.organisation_changed", target_type="organisation",
        target_id=1, data={"zone": zone, "billing_zone": billing_zone, "currency": currency},
    )  # fmt: skip


@transaction.atomic
def change_team(
    *,
    team_id: int,
    name: str,
    cost_centre: str,
    hue: int,
    actor_id: int | None,
    runtime_class: str | None = None,
) -> None:
    """Call a team otherwise; where it stands in the tree is moved apart.

    `runtime_class` is how its jobs are isolated ("" as their pool says); None leaves it as it is.
    """
    changed: dict[str, object] = {"name": name, "cost_centre": cost_centre, "hue": hue}
    if runtime_class is not None:
        changed["runtime_class"] = isolation.checked(runtime_class)
    Team.objects.filter(pk=team_id).update(**changed)
    audit.record(
        actor_id=actor_id, action="teams.changed", target_type="team", target_id=team_id,
        team_id=team_id, data=changed,
    )  # fmt: skip


@transaction.atomic
def set_preferences(*, user_id: int, **chosen: str) -> None:
    """Save a person's own language, theme or zone."""
    User.objects.filter(pk=user_id).update(**chosen)


@transaction.atomic
def reset_second_factor(*, user_id: int, actor_id: int | None) -> None:
    """Turn two-step sign-in off for somebody who lost app and codes; their sessions end."""
    gone, _each = Authenticator.objects.filter(user_id=user_id).delete()
    if not gone:
        return
    for session in UserSession.objects.filter(user_id=user_id):
        session.end()
    audit.record(
        actor_id=actor_id, action="teams.second_factor_reset", target_type="user",
        target_id=user_id,
    )  # fmt: skip


@transaction.atomic
def create_token(*, user_id: int, name: str, scopes: Sequence[str], days: int) -> str:
    """Make an API token and return it; it is never to be had again.

    Raises `Invalid` for a scope that does not exist or a life longer than a year.
    """
    if not scopes or not set(scopes) <= set(tokens.SCOPES):
        raise Invalid(_("Choose what the token may do."), fields={"scopes": _("Choose one.")})
    if not 1 <= days <= tokens.LONGEST_DAYS:
        raise Invalid(_("A token lives at most a year."), fields={"days": _("Choose one.")})
    owner = User.objects.get(pk=user_id)
    token, secret = ApiToken.objects.create(
        owner, expiry=timedelta(days=days), prefix=tokens.PREFIX, name=name, scopes=sorted(scopes)
    )
    audit.record(
        actor_id=user_id, action="teams.token_created", target_type="user", target_id=user_id,
        data={"token": str(token.public_id), "scopes": token.scopes, "days": days},
    )  # fmt: skip
    return str(secret)


@transaction.atomic
def revoke_token(*, user_id: int, public_id: UUID) -> None:
    """End one of a person's own tokens; one that is not theirs or gone is left alone."""
    gone, _each = ApiToken.objects.filter(user_id=user_id, public_id=public_id).delete()
    if gone:
        audit.record(
            actor_id=user_id, action="teams.token_revoked", target_type="user", target_id=user_id,
            data={"token": str(public_id)},
        )  # fmt: skip


@transaction.atomic
def set_group_rule(
    *, rule_id: int | None, group: str, role: Role, team_id: int | None, actor_id: int | None
) -> GroupRule:
    """Say which role a group of the sign-on provider brings; it counts from the next sign-in."""
    rule = GroupRule(pk=rule_id, group=group, role=role, team_id=team_id)
    rule.save()
    audit.record(
        actor_id=actor_id, action="teams.group_rule_set", target_type="group_rule",
        target_id=rule.pk, team_id=team_id, data={"group": group, "role": role.value},
    )  # fmt: skip
    return rule


@transaction.atomic
def drop_group_rule(*, rule_id: int, actor_id: int | None) -> None:
    """Let a group bring nothing any more, from the next sign-in of each of its people."""
    rule = GroupRule.objects.filter(pk=rule_id).first()
    if rule is None:
        return
    rule.delete()
    audit.record(
        actor_id=actor_id, action="teams.group_rule_dropped", target_type="group_rule",
        target_id=rule_id, team_id=rule.team_id, data={"group": rule.group, "role": rule.role},
    )  # fmt: skip
