"""The one place that decides who may do what.

A room declares a `Rule` per route name in its own `permissions.RULES`; `AccessMiddleware` asks
`decide` before any view runs, so a route without a rule answers nobody. Forbidden and unknown are
the same 404. Lists show what `Access.teams(roles)` reaches; single things name the team they
belong to by a resolver.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from portal.teams.models import Role
from portal.teams.selectors import Access

WORK = frozenset({Role.MEMBER, Role.LEAD, Role.ADMIN, Role.AUDITOR})
"""Who sees job names, people and a team's queue."""
COST = frozenset({Role.LEAD, Role.ADMIN, Role.FINANCE, Role.AUDITOR})
"""Who sees what a team pays."""
ASK = frozenset({Role.LEAD, Role.ADMIN})
"""Who asks on a team's behalf."""
DECIDE = frozenset({Role.ADMIN})
"""Who approves, sets quotas and policy."""
BILL = frozenset({Role.FINANCE})
"""Who sets rates and closes months."""
OVERSEE = frozenset({Role.ADMIN, Role.AUDITOR})
"""Who sees how the installation itself runs."""
ANY_ROLE = frozenset(Role)

TeamOf = Callable[[Mapping[str, object]], "int | Unknown | None"]


class Unknown(Enum):
    """The resolver found no such thing."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


class Reach(Enum):
    """What a rule measures a role against."""

    CLOSED = "closed"  # nobody: a library's page we do not offer
    PUBLIC = "public"  # also without signing in
    SIGNED_IN = "signed in"  # whoever signed in
    ANYWHERE = "anywhere"  # a role held in any scope; the list filters
    ORGANISATION = "organisation"  # a role held for the whole organisation
    TEAM = "team"  # a role held in the team the thing belongs to


@dataclass(frozen=True)
class Rule:
    """Who may read (GET, HEAD, OPTIONS) and who may write (all else) at one route."""

    reach: Reach
    read: frozenset[Role] = frozenset()
    write: frozenset[Role] = frozenset()
    team_of: TeamOf | None = None


def closed() -> Rule:
    """Open to nobody."""
    return Rule(Reach.CLOSED)


def public() -> Rule:
    """Open to the world: sign-in and health."""
    return Rule(Reach.PUBLIC)


def signed_in() -> Rule:
    """Open to whoever signed in, to read and to write about themselves."""
    return Rule(Reach.SIGNED_IN)


def anywhere(*, read: frozenset[Role] = ANY_ROLE, write: frozenset[Role] = frozenset()) -> Rule:
    """Needs a role in some scope; what is shown is filtered by scope."""
    return Rule(Reach.ANYWHERE, read=read, write=write)


def organisation(*, read: frozenset[Role], write: frozenset[Role] = frozenset()) -> Rule:
    """Needs a role held for the organisation."""
    return Rule(Reach.ORGANISATION, read=read, write=write)


def of_team(
    team_of: TeamOf, *, read: frozenset[Role], write: frozenset[Role] = frozenset()
) -> Rule:
    """Needs a role in the team of the thing the address names.

    `team_of` takes the route's arguments and gives a team id, None for what only the whole
    organisation owns, or `UNKNOWN`.
    """
    return Rule(Reach.TEAM, read=read, write=write, team_of=team_of)


class Verdict(Enum):
    """What the door does."""

    OPEN = "open"
    SIGN_IN = "sign in"
    NOT_FOUND = "not found"


def decide(
    rule: Rule | None, access: Access, *, writes: bool, kwargs: Mapping[str, object]
) -> Verdict:
    """Say whether this person may take this route; without a rule nobody may."""
    if rule is None or rule.reach is Reach.CLOSED:
        return Verdict.NOT_FOUND
    if rule.reach is Reach.PUBLIC:
        return Verdict.OPEN
    if access.user_id is None:
        return Verdict.SIGN_IN
    if rule.reach is Reach.SIGNED_IN:
        return Verdict.OPEN
    roles = rule.write if writes else rule.read
    return Verdict.OPEN if _reaches(rule, access, roles, kwargs) else Verdict.NOT_FOUND


def _reaches(
    rule: Rule, access: Access, roles: frozenset[Role], kwargs: Mapping[str, object]
) -> bool:
    if rule.reach is Reach.ANYWHERE:
        return access.holds_anywhere(roles)
    if rule.reach is Reach.ORGANISATION or rule.team_of is None:
        return access.holds(roles)
    team_id = rule.team_of(kwargs)
    unknown = isinstance(team_id, Unknown)
    # Asked of what is unknown too, so that it takes no less than what is forbidden.
    held = access.holds(roles, team_id=None if isinstance(team_id, Unknown) else team_id)
    return held and not unknown


RULES: dict[str, Rule] = {
    "account_login": public(),
    "account_logout": signed_in(),
    "account_reauthenticate": signed_in(),
    "account_request_reauthentication_code": closed(),
    "account_confirm_reauthentication_code": closed(),
    "account_confirm_login_code": closed(),
    "account_inactive": public(),
    "account_change_password": signed_in(),
    "account_signup": closed(),
    "account_set_password": closed(),
    "account_email": closed(),
    "account_email_verification_sent": closed(),
    "account_confirm_email": closed(),
    "account_reset_password": closed(),
    "account_reset_password_done": closed(),
    "account_reset_password_from_key": closed(),
    "account_reset_password_from_key_done": closed(),
    "admin-login": public(),
    "openid_connect_login": public(),
    "openid_connect_callback": public(),
    "socialaccount_login_cancelled": public(),
    "socialaccount_login_error": public(),
    "socialaccount_signup": closed(),
    "socialaccount_connections": closed(),
    "mfa_index": signed_in(),
    "mfa_authenticate": public(),
    "mfa_reauthenticate": signed_in(),
    "mfa_activate_totp": signed_in(),
    "mfa_deactivate_totp": signed_in(),
    "mfa_view_recovery_codes": signed_in(),
    "mfa_generate_recovery_codes": signed_in(),
    "mfa_download_recovery_codes": signed_in(),
    "usersessions_list": signed_in(),
    "teams:people": anywhere(read=ASK, write=ASK),
    "teams:revoke-role": anywhere(write=ASK),
    "teams:withdraw": anywhere(write=ASK),
    "teams:accept": public(),
    "teams:tokens": signed_in(),
    "teams:revoke-token": signed_in(),
    "teams:preferences": signed_in(),
    "api-me": signed_in(),
    "api-team-list": anywhere(),
    "api-preferences-detail": signed_in(),
    "api-token-list": signed_in(),
    "api-token-revoke": signed_in(),
    "api-session-list": signed_in(),
    "api-session-end": signed_in(),
    "api-person-list": anywhere(read=ASK),
    "api-role-grant": anywhere(write=ASK),
    "api-role-revoke": anywhere(write=ASK),
    "api-invitation-list": anywhere(read=ASK, write=ASK),
    "api-invitation-withdraw": anywhere(write=ASK),
    "admin:*": organisation(read=DECIDE, write=DECIDE),
}
