"""Who may give which role to whom, and how people who have no account get in.

An admin of the organisation gives any role anywhere; an admin of a branch gives the roles of a
branch inside it; a lead makes members of their own teams. Finance and auditor are given by the
organisation's admins alone: they see what crosses branches.

An invitation is a link that opens once, for a week, kept as a hash; it carries one role.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.common import audit, outbox
from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import Channel
from portal.teams import services
from portal.teams.models import Invitation, Role, RoleAssignment, User
from portal.teams.selectors import Access

LIFE = timedelta(days=7)
IN_A_BRANCH = (Role.MEMBER, Role.LEAD, Role.ADMIN)
NOBODYS = 0
"""The team of what is not there, asked for so that it takes no less than what is another's."""


def grantable(access: Access, team_id: int | None) -> tuple[Role, ...]:
    """Return the roles this person may give, and take, in a team or, without one, everywhere."""
    if access.holds({Role.ADMIN}):
        return tuple(Role)
    if team_id is None:
        return ()
    if access.holds({Role.ADMIN}, team_id=team_id):
        return IN_A_BRANCH
    return (Role.MEMBER,) if access.holds({Role.LEAD}, team_id=team_id) else ()


def check_grant(access: Access, role: Role, team_id: int | None) -> None:
    """Raise `Invalid` when this person may not give this role there."""
    if role not in grantable(access, team_id):
        text = _("You may not give this role there.")
        raise Invalid(text, fields={"role": text})


@transaction.atomic
def grant(*, access: Access, username: str, role: Role, team_id: int | None, now: datetime) -> None:
    """Give somebody who has an account a role. Raises `Invalid`."""
    check_grant(access, role, team_id)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        text = _("Nobody signs in by this name. Invite them by e-mail instead.")
        raise Invalid(text, fields={"username": text})
    services.grant_role(
        user_id=user.pk, role=role, team_id=team_id, now=now, actor_id=access.user_id
    )


@transaction.atomic
def revoke(*, access: Access, assignment_id: int) -> None:
    """Take a role back. Raises `Missing` for one that is not there or not theirs to take."""
    held = RoleAssignment.objects.filter(pk=assignment_id).first()
    theirs = grantable(access, held.team_id if held else NOBODYS)
    if held is None or Role(held.role) not in theirs:
        raise Missing
    services.revoke_role(assignment_id=assignment_id, actor_id=access.user_id)


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation just made, with its link, which is never to be had again."""

    id: int
    link: str


@transaction.atomic
def invite(
    *, access: Access, email: str, role: Role, team_id: int | None, real_now: datetime
) -> Invited:
    """Mail a link by which one person may make an account that holds this role."""
    check_grant(access, role, team_id)
    token = secrets.token_urlsafe(32)
    row = Invitation.objects.create(
        email=email, role=role, team_id=team_id, invited_by_id=access.user_id,
        digest=_digest(token), created_at=real_now, expires_at=real_now + LIFE,
    )  # fmt: skip
    link = f"{settings.SITE_URL}{reverse('teams:accept', kwargs={'token': token})}"
    outbox.put(
        key=f"invitation:{row.pk}", channel=Channel.MAIL, address=email,
        subject=_("You are invited to Evenshare"),
        body=_(
            "Open this link within a week to make your account:\n\n%(link)s\n\n"
            "It opens once. If you expected nothing of this kind, leave it."
        ) % {"link": link},
        real_now=real_now,
    )  # fmt: skip
    audit.record(
        actor_id=access.user_id, action="teams.invited", target_type="invitation",
        target_id=row.pk, team_id=team_id, data={"role": role.value},
    )  # fmt: skip
    return Invited(row.pk, link)


@transaction.atomic
def withdraw(*, access: Access, invitation_id: int, real_now: datetime) -> None:
    """Let a link open nothing any more. Raises `Missing`."""
    row = Invitation.objects.filter(pk=invitation_id).first()
    theirs = grantable(access, row.team_id if row else NOBODYS)
    if row is None or Role(row.role) not in theirs:
        raise Missing
    open_ = Invitation.objects.filter(pk=row.pk, accepted_at=None, withdrawn_at=None)
    if open_.update(withdrawn_at=real_now):
        audit.record(
            actor_id=access.user_id, action="teams.invitation_withdrawn",
            target_type="invitation", target_id=row.pk, team_id=row.team_id,
        )  # fmt: skip


def find_open(*, token: str, real_now: datetime) -> Invitation | None:
    """Return the invitation this link opens, or None: unknown, used, withdrawn and late alike."""
    return Invitation.objects.filter(
        digest=_digest(token), accepted_at=None, withdrawn_at=None, expires_at__gt=real_now
    ).first()


@transaction.atomic
def accept(
    *, token: str, username: str, first_name: str, last_name: str, password: str,
    now: datetime, real_now: datetime,
) -> User:  # fmt: skip
    """Make the account the link is for. Raises `Missing`, `Invalid`, or `Conflict` on a taken name."""
    row = find_open(token=token, real_now=real_now)
    if row is None:
        raise Missing
    used = Invitation.objects.filter(pk=row.pk, accepted_at=None, withdrawn_at=None)
    if not used.update(accepted_at=real_now):
        raise Missing
    _check_password(password, User(username=username, first_name=first_name, email=row.email))
    try:
        with transaction.atomic():
            user = services.create_user(
                username=username, first_name=first_name, last_name=last_name, email=row.email,
                password=password, actor_id=None,
            )  # fmt: skip
    except IntegrityError:
        text = _("Somebody signs in by this name already.")
        raise Conflict(text, code="name_taken", fields={"username": text}) from None
    services.grant_role(
        user_id=user.pk, role=Role(row.role), team_id=row.team_id, now=now,
        actor_id=row.invited_by_id,
    )  # fmt: skip
    return user


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as fault:
        text = " ".join(fault.messages)
        raise Invalid(text, fields={"password": text}) from None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
