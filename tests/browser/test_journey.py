"""One straight line: a lead asks, an admin agrees, the clock passes, work runs, finance sees it."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.backstage import Backstage
from tests.browser.conftest import SignIn

# Tuesday, ten to fourteen o'clock in Seoul; the organisation's day is the Monday before.
BEGINS, ENDS = "2026-11-03T10:00", "2026-11-03T14:00"
OPEN, MIDWAY, OVER = (f"2026-11-03T{hour}+00:00" for hour in ("01:00", "02:00", "05:30"))
PURPOSE = "Final run before the deadline"
# What a GPU-hour of the second cheapest pool costs on the demo's rate card.
WON = 1400


def test_eight_gpus_tomorrow_from_the_question_to_the_bill(
    signed_in: SignIn, portal: Backstage
) -> None:
    lead = signed_in("minji")
    _ask_for_eight(lead)
    request_url = lead.url
    _approve(signed_in("jihye"))
    lead.goto("/")
    expect(lead.get_by_role("link", name="Tomorrow 10:00–14:00 KST")).to_be_visible()

    portal.ask("pass_to", at=OPEN)
    reservation = portal.ask("newest_reservation")["id"]
    job = portal.ask(
        "submit", team="vision", reservation_id=reservation, gpus=8, seconds=2 * 3600 + 1234
    )
    portal.ask("pass_to", at=MIDWAY)
    _sees_it_run(lead, job["name"])

    portal.ask("pass_to", at=OVER)
    held = portal.ask("books", uid=job["uid"])
    assert held["devices"] == 8
    hours = held["device_seconds"] / 3600
    assert 16 < hours < 20
    _sees_the_line(signed_in("boram"), reservation, hours)
    lead.goto(request_url)
    line = lead.get_by_role("region", name="What became of it")
    expect(line).to_contain_text(f"R-{reservation}")
    expect(line).to_contain_text(f"{hours:,.1f} GPU-hours")
    expect(line).to_contain_text(job["name"])


def _ask_for_eight(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Reserve", exact=True).first.click()
    page.get_by_role("navigation", name="Pools").get_by_role("link", name="a100").click()
    page.get_by_label("GPUs", exact=True).fill("8")
    page.get_by_label("On each node").fill("8")
    page.get_by_label("From", exact=True).fill(BEGINS)
    page.get_by_label("Until", exact=True).fill(ENDS)
    verdict = page.locator("#verdict")
    expect(verdict).to_have_class(re.compile(r"\bgood\b"))
    expect(verdict).to_contain_text("Fits")
    expect(verdict).to_contain_text("10:00")
    page.get_by_label("What it is for").fill(PURPOSE)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("8")
    expect(page.locator("main")).to_contain_text(PURPOSE)


def _approve(page: Page) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Requests").click()
    page.get_by_role("row", name=re.compile(r"8 a100|8.*a100")).get_by_role("link").first.click()
    expect(page.locator("main")).to_contain_text(PURPOSE)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").first).to_contain_text("R-")


def _sees_it_run(page: Page, job: str) -> None:
    page.goto("/")
    panel = page.locator("main")
    expect(panel).to_contain_text("8 reserved")
    page.goto("/queue/?state=running")
    page.get_by_role("link", name=job).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(job)
    expect(page.locator("main")).to_contain_text("reserved")


def _sees_the_line(page: Page, reservation: int, hours: float) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Costs").click()
    page.get_by_role("link", name="Vision").first.click()
    line = page.get_by_role("row", name=re.compile(rf"R-{reservation}\b")).first
    expect(line).to_contain_text("eserved")
    expect(line).to_contain_text(f"{hours:,.1f}")
    expect(line).to_contain_text(f"₩ {round(hours * WON):,}")


def test_a_lead_asks_with_the_keyboard_alone(signed_in: SignIn) -> None:
    page = signed_in("minji")
    page.goto("/reserve/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    _tab_to(page, lambda: page.get_by_label("GPUs", exact=True))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    expect(page.locator("#verdict")).to_contain_text("2 ")
    _tab_to(page, lambda: page.get_by_label("What it is for"))
    page.keyboard.type("Typed without a mouse")
    _tab_to(page, lambda: page.get_by_role("button", name="Submit"))
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Typed without a mouse")
    expect(page.get_by_role("button", name="Cancel the request")).to_be_visible()


def _tab_to(page: Page, target: Callable[[], object], most: int = 60) -> None:
    """Press Tab until the target has the keyboard; everything on the way can be seen to have it."""
    wanted = target().element_handle()  # type: ignore[attr-defined]
    for _ in range(most):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring != "none", page.evaluate("document.activeElement.outerHTML")
    raise AssertionError("the keyboard does not get there")
