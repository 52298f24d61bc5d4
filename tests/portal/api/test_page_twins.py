"""Everything the pages do, the API does: each page action has its twin here, or a reason."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from django.urls import URLResolver, get_resolver

from portal.operations import openapi
from portal.teams.middleware import rule_for
from portal.teams.permissions import Reach

TWINS = {
    "teams:preferences": "preferences-replace",
    "teams:people": "role-grant, invitation-create",
    "teams:revoke-role": "role-revoke",
    "teams:withdraw": "invitation-withdraw",
    "teams:revoke-token": "token-revoke",
    "usersessions_list": "session-end",
    "notifications:read": "notification-read",
    "notifications:settings": "wishes-replace",
    "notifications:hooks": "hook-create",
    "notifications:retire-hook": "hook-retire",
    "notifications:try-again": "outbox-again",
    "kubernetes:mode": "cluster-mode",
    "kubernetes:pause": "cluster-pause",
    "kubernetes:resume": "cluster-resume",
    "kubernetes:undo": "cluster-undo",
    "kubernetes:take-over": "drift-take-over",
    "kubernetes:new-job-check": "job-check",
    "requests:reserve": "request-create",
    "requests:quota": "request-create",
    "requests:edit": "request-replace",
    "requests:submit": "request-submit",
    "requests:cancel": "request-cancel",
    "requests:approve": "request-approve",
    "requests:reject": "request-reject",
    "requests:release": "reservation-cancel, reservation-give-back",
    "requests:comment": "request-comment-create",
    "requests:maintenance-plan": "maintenance-plan",
    "requests:maintenance-cancel": "maintenance-cancel",
    "requests:maintenance-effects": "maintenance-effects",
    "requests:feeds": "feed-create",
    "requests:feed-revoke": "feed-revoke",
    "requests:rules-save": "rule-approvals, rule-drop, rule-pool, rule-class",
    "requests:sla-set": "sla-create",
    "requests:tiers": "tier-create, tier-retire",
    "requests:breach": "breach-acknowledge",
    "requests:quota-pool": "quota-create",
    "requests:quota-effects": "quota-effects",
    "requests:quota-undo": "quota-undo",
    "scheduling:edit-policy": "policy-replace",
    "scheduling:undo-policy": "policy-undo",
    "finance:set-budget": "budget-create",
    "finance:end-budget": "budget-end",
    "finance:show-money": "presentation-set",
    "finance:set-rates": "rate-card-create, rate-card-preview",
    "finance:close": "month-close",
    "finance:revise": "statement-revise",
    "finance:comment": "statement-comment-create",
    "finance:paid": "statement-paid",
    "studies:new": "study-create",
    "studies:upload": "trace-create",
    "studies:delete-trace": "trace-drop",
    "studies:describe": "study-replace",
    "studies:cancel": "study-cancel",
    "studies:again": "study-again",
    "studies:delete": "study-drop",
    "usage:monitoring": "monitoring-replace",
}
"""Page action → the operations that do the same."""

SIGNING_IN = "signs a person in or out, or proves who they are; a token stands for that already"
FACING = "an admin does it to one person, once, facing a page that says what it means"
WITHOUT = {
    "account_login": SIGNING_IN,
    "account_logout": SIGNING_IN,
    "account_reauthenticate": SIGNING_IN,
    "account_change_password": SIGNING_IN,
    "mfa_authenticate": SIGNING_IN,
    "mfa_reauthenticate": SIGNING_IN,
    "mfa_activate_totp": SIGNING_IN,
    "mfa_deactivate_totp": SIGNING_IN,
    "mfa_generate_recovery_codes": SIGNING_IN,
    "openid_connect_login": SIGNING_IN,
    "openid_connect_callback": SIGNING_IN,
    "teams:accept": SIGNING_IN,
    "person-export": FACING,
    "person-forget": FACING,
    "teams:tokens": "a token is made only behind a fresh second factor, which no token can give",
}
"""Page actions that programs have no use for, and why. The admin site sets up what is set up once."""


def _pages(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            inner = f"{space}{entry.namespace}:" if entry.namespace else space
            if inner != "admin:":
                yield from _pages(entry, inner)
        elif not str(entry.name).startswith("api-"):
            yield f"{space}{entry.name}", entry.callback


def _acts(view: Callable[..., Any]) -> bool:
    """Whether a page takes a POST: a class by its method, a function by what it says."""
    kind = getattr(view, "view_class", None)
    if kind is not None:
        return hasattr(kind, "post")
    return "POST" in inspect.getsource(inspect.unwrap(view))


def _closed(name: str) -> bool:
    rule = rule_for(name)
    return rule is not None and rule.reach is Reach.CLOSED


def test_each_page_action_has_an_operation_or_a_reason() -> None:
    acting = {name for name, view in _pages(get_resolver()) if _acts(view) and not _closed(name)}
    orphans = acting - set(TWINS) - set(WITHOUT) - {"admin-login"}
    assert orphans == set(), "add an operation for it, and its line here"


def test_each_twin_is_an_operation_and_each_line_a_page() -> None:
    known = {
        said["operationId"]
        for methods in openapi.document()["paths"].values()
        for said in methods.values()
    }
    missing = {
        f"{page}: {twin}"
        for page, twins in TWINS.items()
        for twin in twins.split(", ")
        if twin not in known
    }
    assert missing == set()
    pages = {name for name, _view in _pages(get_resolver())}
    assert set(TWINS) | set(WITHOUT) <= pages
