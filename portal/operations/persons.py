"""All that stands about one person: told in full, and made nobody's.

`held` gathers it by looking at every table: rows that point at the person, rows that name them by
id, and the few that hold their name or address as text. A table added later is looked at too.

`forget` takes a person out and leaves what others rely on. **Gone** are names, sign-in name,
address, password, second factor, sign-on accounts, sessions, tokens, roles, news and settings,
mails to them that wait or were sent, remembered answers, and the admin site's own log. **Kept**,
under a number that leads to nobody, are the audit chain, which names people by number alone and so
stays whole, line by line; requests, decisions, comments and statements, since others were granted
or billed by them; and use in the ledger, which is billed. Texts people wrote are kept as written.
What a cluster itself calls a person is of the cluster: jobs that are over are renamed here, and one
that still runs is read anew with the name it carries there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.common import audit
from portal.common.errors import Conflict, Missing
from portal.common.models import Channel, IdempotencyKey, OutboxMessage
from portal.notifications.models import Notification, Preference
from portal.teams.models import ApiToken, Invitation, Role, RoleAssignment, User
from portal.workloads.models import Workload

SECRET = frozenset(
    {"password", "digest", "token_key", "secret", "session_key", "session_data", "sealed", "hash",
     "previous_hash", "body_hash", "token"}
)  # fmt: skip
"""Columns that open something, or prove something; nobody is told those, not even about themselves."""
BY_ID = ("actor_id", "author_id", "user_id", "created_by_id", "closed_by_id", "revised_by_id",
         "changed_by_id", "paused_by_id")  # fmt: skip
"""Columns that hold a person's id without pointing at the row."""
BY_TEXT = (
    (OutboxMessage, "address", "email"), (Invitation, "email", "email"),
    (Workload, "person", "username"),
)  # fmt: skip
"""Tables that hold a person's address or sign-in name as text."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows of one table that are about somebody."""

    table: str
    rows: tuple[dict[str, Any], ...]


def get_person(*, user_id: int) -> User:
    """Return somebody. Raises `Missing`."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Missing
    return user


def held(user: User) -> list[Held]:
    """Return all that stands about a person, table by table, without what opens anything."""
    found = [Held("teams.user", (_plain(user),))]
    for model in apps.get_models():
        wanted = _about(model, user)
        if wanted is not None:
            rows = tuple(_plain(row) for row in model._default_manager.filter(wanted).iterator())
            if rows:
                found.append(Held(model._meta.label_lower, rows))
    return found


def _about(model: type[models.Model], user: User) -> Q | None:
    """Return what a row about this person meets, or None where no row can be."""
    wanted = [Q(**{name: user.pk}) for name in _columns(model)]
    wanted += [
        Q(**{column: text})
        for table, column, of in BY_TEXT
        if table is model and (text := getattr(user, of))
    ]
    if model._meta.label == "common.AuditEvent":
        wanted.append(Q(target_type="user", target_id=user.pk))
    return _any(wanted)


def _columns(model: type[models.Model]) -> Iterator[str]:
    for field in model._meta.concrete_fields:
        points = isinstance(field, models.ForeignKey) and field.related_model is User
        if points or field.name in BY_ID:
            yield field.name


def _any(wanted: Iterable[Q]) -> Q | None:
    found: Q | None = None
    for one in wanted:
        found = one if found is None else found | one
    return found


def _plain(row: models.Model) -> dict[str, Any]:
    """Return the columns of a row, but for what opens anything."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.name not in SECRET and not isinstance(field, models.BinaryField)
    }


@transaction.atomic
def export(*, user_id: int, actor_id: int | None) -> dict[str, Any]:
    """Return all that stands about a person as plain values, and write down that it was taken."""
    user = get_person(user_id=user_id)
    told = {one.table: list(one.rows) for one in held(user)}
    audit.record(
        actor_id=actor_id, action="teams.person_exported", target_type="user", target_id=user_id,
        data={"rows": sum(map(len, told.values()))},
    )  # fmt: skip
    return told


@transaction.atomic
def forget(*, user_id: int, actor_id: int | None, now: datetime) -> str:
    """Make a person nobody; return what they are called from now on. Twice is once.

    Raises `Missing`, or `Conflict` for the organisation's last admin and for oneself.
    """
    admins = RoleAssignment.objects.select_for_update(no_key=True).filter(
        role=Role.ADMIN, team=None
    )
    left = {a.user_id for a in admins.filter(user__is_active=True)} - {user_id}
    if not left:
        raise Conflict(_("This is the last admin of the organisation."), code="last_admin")
    if actor_id == user_id:
        raise Conflict(_("Nobody forgets themselves; ask another admin."), code="own")
    user = get_person(user_id=user_id)
    called = f"forgotten-{user.pk}"
    if user.username == called:
        return called
    _clear(user)
    Workload.objects.filter(person=user.username).exclude(person="").update(person=called)
    user.username, user.first_name, user.last_name, user.email = called, "", "", ""
    user.language, user.zone, user.last_login = "", "", None
    user.is_active = user.is_staff = user.is_superuser = False
    user.set_unusable_password()
    user.save()
    audit.record(
        actor_id=actor_id, action="teams.person_forgotten", target_type="user", target_id=user_id
    )
    return called


def _clear(user: User) -> None:
    """Take away what is of the person alone."""
    keys = UserSession.objects.filter(user=user).values_list("session_key", flat=True)
    Session.objects.filter(session_key__in=list(keys)).delete()
    for model in (UserSession, EmailAddress, SocialAccount, Authenticator, ApiToken,
                  RoleAssignment, Notification, Preference):  # fmt: skip
        model._default_manager.filter(user=user).delete()
    IdempotencyKey.objects.filter(user_id=user.pk).delete()
    kind = ContentType.objects.get_for_model(User)
    LogEntry.objects.filter(Q(user=user) | Q(content_type=kind, object_id=str(user.pk))).delete()
    if user.email:
        mails = OutboxMessage.objects.filter(channel=Channel.MAIL, address__iexact=user.email)
        mails.delete()
        Invitation.objects.filter(email__iexact=user.email).update(
            email="forgotten@localhost.invalid"
        )
