"""Every page as the npm package lighthouse sees it: accessibility of 95 points or more.

`make lighthouse` installs it beside the virtual environment; LIGHTHOUSE names another one. It opens
a Chromium of its own for each page, so this takes minutes.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.backstage import Backstage
from tests.browser.conftest import FLAGS, NAMES, SignIn
from tests.browser.test_pages import ROLES, addresses, routes

LEAST = 95
pytestmark = pytest.mark.drill


@pytest.fixture(scope="session")
def lighthouse() -> str:
    found = os.environ.get("LIGHTHOUSE") or shutil.which("lighthouse")
    if not found:
        pytest.skip("there is no lighthouse; `make lighthouse` installs it")
    return found


@pytest.mark.parametrize("role", ["lead", "admin", "finance"])
def test_every_page_is_accessible_to_lighthouse(
    signed_in: SignIn, portal: Backstage, lighthouse: str, tmp_path: Path, role: str
) -> None:
    page = signed_in(ROLES[role])
    page.goto("/")
    scores = {
        address: _score(lighthouse, f"{portal.address}{address}", _cookies(page.context), tmp_path)
        for address in _pages(page.context, portal)
    }
    assert len(scores) > 5
    assert {address: score for address, score in scores.items() if score[0] < LEAST} == {}


def _pages(context: BrowserContext, portal: Backstage) -> Iterator[str]:
    """The addresses this person may open."""
    for name, arguments in routes():
        for address in addresses(name, arguments, portal.ids):
            if context.request.get(address).status == 200:
                yield address


def _cookies(context: BrowserContext) -> str:
    return "; ".join(f"{one['name']}={one['value']}" for one in context.cookies())


def _score(lighthouse: str, url: str, cookies: str, folder: Path) -> tuple[float, list[str]]:
    """Points out of a hundred, and what cost some."""
    headers = folder / "headers.json"
    headers.write_text(json.dumps({"Cookie": cookies}))
    chrome = next(found for name in NAMES if (found := shutil.which(name)))
    done = subprocess.run(
        [
            lighthouse, url, "--quiet", "--output=json", "--only-categories=accessibility",
            f"--extra-headers={headers}", f"--chrome-flags={' '.join(('--headless', *FLAGS))}",
        ],
        env={**os.environ, "CHROME_PATH": chrome}, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    audits = report["audits"]
    weighed = report["categories"]["accessibility"]
    faults = [
        one["id"] for one in weighed["auditRefs"]
        if one["weight"] and audits[one["id"]]["score"] not in (1, None)
    ]  # fmt: skip
    return 100 * float(weighed["score"] or 0), faults
