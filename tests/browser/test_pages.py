"""Every page as every role: in both themes, languages and widths, without a fault.

The pages are the portal's own routes, so that a new page is looked at from its first day; `SHAPES`
says how a route's arguments become addresses, and what else of it looks different.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Page, ViewportSize

from portal.teams.middleware import rule_for
from tests.browser.backstage import Backstage
from tests.browser.conftest import SignIn
from tests.browser.watching import Watch, grave_faults, overflow

ROLES = {
    "lead": "minji", "member": "junho", "admin": "jihye", "finance": "boram", "auditor": "wonho"
}  # fmt: skip
WIDE = ViewportSize(width=1280, height=900)
NARROW = ViewportSize(width=390, height=844)
# What answers no page of its own to a reader.
NO_PAGES = (
    "api-", "check", "submit", "cancel", "approve", "reject", "release", "comment", "snapshot",
    "statement-", "month-focus", "new-job-check", "new-job-yaml", "preferences", "live", "ready", "admin-login",
    "quota-effects", "quota-undo", "rules-save", "maintenance-plan", "maintenance-effects",
    "maintenance-cancel", "feed-revoke", "calendar", "revoke-", "withdraw", "accept", "read",
    "retire-hook", "end-budget", "figures", "undo-policy", "try-again",
)  # fmt: skip
MORE = {
    "dashboards:queue": ("?state=running", "?state=ended"),
    "requests:reserve": ("?span=week", "?span=month"),
}


def routes() -> Iterator[tuple[str, list[str]]]:
    """Name and argument names of every page of the portal's own."""
    for resolver in get_resolver().url_patterns:
        if not isinstance(resolver, URLResolver) or not resolver.namespace:
            continue
        if resolver.namespace == "admin":
            continue
        for entry in resolver.url_patterns:
            if isinstance(entry, URLPattern) and not str(entry.name).startswith(NO_PAGES):
                yield f"{resolver.namespace}:{entry.name}", list(entry.pattern.converters)


def addresses(name: str, arguments: list[str], ids: dict[str, list[Any]]) -> Iterator[str]:
    if not arguments:
        yield from (f"{reverse(name)}{more}" for more in ("", *MORE.get(name, ())))
        return
    if len(arguments) > 1:
        yield reverse(name, kwargs={argument: ids[argument][0] for argument in arguments})
        return
    (argument,) = arguments
    yield from (reverse(name, kwargs={argument: value}) for value in ids[argument])


@pytest.mark.parametrize("role", ROLES)
def test_every_page_is_without_fault(
    signed_in: SignIn, portal: Backstage, watch: Watch, role: str
) -> None:
    page = signed_in(ROLES[role], viewport=WIDE)
    faults = [fault for _ in _walk(page, portal, watch) for fault in _faults(page)]
    assert faults == []


@pytest.mark.parametrize("role", ["lead", "admin", "finance"])
def test_every_page_is_in_korean_and_no_wider_than_a_telephone(
    signed_in: SignIn, portal: Backstage, watch: Watch, role: str
) -> None:
    page = signed_in(ROLES[role], viewport=NARROW, locale="ko-KR")
    faults = []
    for address in _walk(page, portal, watch):
        assert page.locator("html").get_attribute("lang") == "ko", address
        assert re.search("[가-힣]{2}", page.locator("main").inner_text()), address
        faults += overflow(page)
    assert faults == []


def _walk(page: Page, portal: Backstage, watch: Watch) -> Iterator[str]:
    """Open every page this person may open, one after the other."""
    opened = 0
    for name, arguments in routes():
        for address in addresses(name, arguments, portal.ids):
            answer = page.goto(address)
            assert answer is not None
            if answer.status == 404:
                watch.expect("404")
                continue
            assert answer.status == 200, address
            opened += 1
            yield address
    assert opened > 5


def _faults(page: Page) -> list[str]:
    """What is wrong with the page that is open, in any dress."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    found = [*overflow(page), *grave_faults(page)]
    page.emulate_media(color_scheme="dark")
    found += grave_faults(page, "color-contrast")
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="light")
    return [*found, *overflow(page), *grave_faults(page)]


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_pages_of_who_has_not_signed_in_are_without_fault(
    opened: Callable[..., Page], width: ViewportSize
) -> None:
    page = opened(viewport=width)
    page.goto("/account/login/")
    assert overflow(page) == []
    assert grave_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert grave_faults(page) == []


def test_every_page_route_has_a_rule() -> None:
    """The list above would otherwise miss it."""
    assert all(rule_for(name) for name, _ in routes())
    assert len(list(routes())) >= 12
