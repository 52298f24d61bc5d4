"""A real Chromium in front of a real server; every page it opens is watched for faults."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from portal.operations.organisation import PASSWORD
from tests.browser.backstage import Backstage
from tests.browser.watching import Watch

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run", "--disable-quic",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
SignIn = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's own Chromium, talking to nobody but the server under test."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        reason = f"there is no Chromium (looked for {', '.join(NAMES)})"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return {**browser_type_launch_args, "executable_path": path, "args": list(FLAGS)}


@pytest.fixture(scope="session")
def portal(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backstage]:
    """The small organisation at noon of its Monday; only made when there is a browser."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    backstage = Backstage(tmp_path_factory.mktemp("var"), port)
    yield backstage
    backstage.stop()


@pytest.fixture(scope="session")
def base_url(portal: Backstage) -> str:
    """Where paths begin."""
    return portal.address


@pytest.fixture(scope="session")
def sessions() -> dict[str, Any]:
    """Cookies of those who have signed in, so that each does so once."""
    return {}


@pytest.fixture
def watch(portal: Backstage) -> Iterator[Watch]:
    """What went wrong in any page of this test; nothing may."""
    watch = Watch(portal.address)
    yield watch
    assert watch.faults == []


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext], watch: Watch) -> Callable[..., Page]:
    """Open a page nobody is signed in on; arguments are those of a browser context."""

    def open_page(**context: Any) -> Page:
        page = new_context(**{"locale": "en-GB", **context}).new_page()
        page.set_default_timeout(15_000)
        watch.over(page)
        return page

    return open_page


@pytest.fixture
def signed_in(opened: Callable[..., Page], sessions: dict[str, Any]) -> SignIn:
    """Open a page as somebody, signed in through the form the first time."""

    def sign_in(username: str, **context: Any) -> Page:
        if username in sessions:
            return opened(storage_state=sessions[username], **context)
        page = opened(**context)
        page.goto("/account/login/")
        fill_in_sign_in(page, username)
        page.wait_for_url(lambda url: "/account/" not in url)
        sessions[username] = page.context.storage_state()
        return page

    return sign_in


def fill_in_sign_in(page: Page, username: str) -> None:
    """Fill in the form that stands on the page, and send it."""
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
