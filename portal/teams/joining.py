"""Single sign-on: people come by the organisation's OpenID provider, and groups bring roles.

A `GroupRule` says which role a group brings where. At each sign-in the roles that groups bring are
set to what the provider says now: new ones given, gone ones taken. Roles given by hand are left
alone. Accounts are never matched by e-mail or by name: what counts is the provider's own subject.
"""

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from allauth.account.signals import user_logged_in
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from portal.common import clock
from portal.common.errors import Conflict
from portal.teams import services
from portal.teams.models import GroupRule, Role, RoleAssignment, User

log = logging.getLogger("portal.teams")


class ByProvider(DefaultSocialAccountAdapter):
    """Lets people in whom the provider vouches for; they need no invitation."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Yes: the provider is the organisation's own."""
        return True

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Yes: nothing more is asked."""
        return True


def groups_of(sociallogin: SocialLogin) -> set[str]:
    """Return the groups the provider names, from its user info or else the id token."""
    data: dict[str, Any] = sociallogin.account.extra_data or {}
    for part in (data.get("userinfo"), data.get("id_token"), data):
        named = (part or {}).get(settings.OIDC_GROUPS)
        if isinstance(named, str):
            return {named}
        if isinstance(named, list):
            return {str(one) for one in named}
    return set()


@transaction.atomic
def set_roles(*, user_id: int, groups: Iterable[str], now: datetime) -> None:
    """Give and take what groups bring; the organisation's last admin keeps the role."""
    rules = GroupRule.objects.filter(group__in=list(groups))
    wanted = {(rule.role, rule.team_id) for rule in rules}
    held = RoleAssignment.objects.filter(user_id=user_id)
    for one in held.filter(by_group=True):
        if (one.role, one.team_id) not in wanted:
            try:
                services.revoke_role(assignment_id=one.pk, actor_id=None)
            except Conflict:
                log.warning("the last admin keeps a role no group brings any more")
    for role, team_id in sorted(wanted, key=str):
        services.grant_role(
            user_id=user_id, role=Role(role), team_id=team_id, now=now, actor_id=None, by_group=True
        )


@receiver(user_logged_in)
def _came_in(
    sender: type[User], user: User, sociallogin: SocialLogin | None = None, **kwargs: Any
) -> None:
    if sociallogin is not None:
        set_roles(user_id=user.pk, groups=groups_of(sociallogin), now=clock.now())
