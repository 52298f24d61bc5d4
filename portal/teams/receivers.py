"""Puts on the audit chain what the sign-in libraries do for us."""

from typing import Any

from allauth.account.signals import password_changed, password_reset
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from portal.common import audit
from portal.teams.models import User


def _record(action: str, user: User, **data: object) -> None:
    audit.record(
        actor_id=user.pk, action=f"teams.{action}", target_type="user", target_id=user.pk, data=data
    )


def _rotate(request: HttpRequest) -> None:
    """Give the session a new key where what it may do changes: one that got out is worth nothing."""
    before = request.session.session_key
    request.session.cycle_key()
    UserSession.objects.filter(session_key=before).update(session_key=request.session.session_key)


@receiver(user_logged_in)
def _signed_in(sender: type[User], request: HttpRequest, user: User, **kwargs: Any) -> None:
    _record("signed_in", user)


@receiver(user_login_failed)
def _sign_in_failed(sender: str, credentials: dict[str, Any], **kwargs: Any) -> None:
    """Write it down for a name nobody has, too: the work is the same, and so tells nothing."""
    name = str(credentials.get("username", ""))[:150]
    user_id = User.objects.filter(username=name).values_list("pk", flat=True).first()
    audit.record(
        actor_id=None, action="teams.sign_in_failed", target_type="user", target_id=user_id
    )


@receiver([password_changed, password_reset])
def _password_changed(sender: type[User], user: User, **kwargs: Any) -> None:
    _record("password_changed", user)


@receiver(authenticator_added)
def _added(
    sender: type[Authenticator], request: HttpRequest, user: User, authenticator: Authenticator,
    **kw: Any,
) -> None:  # fmt: skip
    _rotate(request)
    _record("second_factor_added", user, kind=authenticator.type)


@receiver(authenticator_removed)
def _removed(
    sender: type[Authenticator], request: HttpRequest, user: User, authenticator: Authenticator,
    **kw: Any,
) -> None:  # fmt: skip
    _rotate(request)
    _record("second_factor_removed", user, kind=authenticator.type)


@receiver(authenticator_reset)
def _reset(
    sender: type[Authenticator], user: User, authenticator: Authenticator, **kw: Any
) -> None:
    _record("recovery_codes_renewed", user)
