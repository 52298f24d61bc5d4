"""What a person would not see but must not happen: errors in the console, other hosts, axe faults."""

from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Page, Request

GRAVE = ("serious", "critical")
LOCAL_SCHEMES = ("data:", "blob:", "about:")


@dataclass
class Watch:
    """Remembers what went wrong in the pages it looks over."""

    address: str
    faults: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        """Look over a page from now on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.location.get('url')}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.address}/", *LOCAL_SCHEMES)):
            self.faults.append(f"a request to another host: {request.url}")

    def expect(self, *parts: str) -> None:
        """Take faults for meant that hold one of these texts."""
        self.faults = [f for f in self.faults if not any(part in f for part in parts)]


def grave_faults(page: Page, *rules: str) -> list[str]:
    """What axe finds serious or critical on the page, by all of its rules or only these."""
    options: dict[str, Any] = {"resultTypes": ["violations"], "iframes": False}
    if rules:
        options["runOnly"] = list(rules)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("options => axe.run(options)", options)
    return [
        f"{page.url}: {fault['id']} at {node['target']}: {node['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in GRAVE
        for node in fault["nodes"]
    ]


def overflow(page: Page) -> list[str]:
    """What makes the page wider than the window; empty when nothing does."""
    found: list[str] = page.evaluate(
        """() => {
          const root = document.documentElement;
          if (root.scrollWidth <= root.clientWidth) { return []; }
          const wide = [...document.querySelectorAll("body *")].filter(
            (e) => e.getBoundingClientRect().right > root.clientWidth + 1);
          const names = wide.slice(0, 5).map((e) => `${e.tagName}.${e.className}`);
          return [`${location.pathname}: ${root.scrollWidth} px wide: ${names}`];
        }"""
    )
    return found
