"""What leads ask for beside GPUs for a time, how admins answer, and what others only read."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn
from tests.browser.test_deciding import DRESSES, NARROW, WIDE, _sound

SAID = ".messages .success"


def _reject_button(page: Page) -> Any:
    return page.locator('button[formaction*="/reject/"]')


def _decide(page: Page, address: str) -> None:
    page.goto(address)
    page.locator('form[action*="/approve/"] button:not([formaction])').click()
    expect(page.locator(SAID)).to_be_visible()


@pytest.mark.parametrize("dress", DRESSES)
def test_a_quota_is_asked_for_and_granted_in_part(signed_in: SignIn, dress: dict[str, Any]) -> None:
    lead = signed_in("minji", **dress)
    lead.goto("/requests/quota/")
    figure = lead.locator('form [name="guaranteed"]')
    had = int(figure.input_value())
    figure.fill(str(had + 3))
    lead.locator('[name="reason"]').fill("Two more projects")
    lead.locator('button[value="check"]').click()
    expect(lead.locator("#verdict")).to_be_visible()
    _sound(lead)
    lead.locator('button[value="submit"]').click()
    expect(lead.locator(SAID)).to_be_visible()
    address = lead.url
    admin = signed_in("jihye", **dress)
    admin.goto(address)
    _sound(admin)
    admin.locator('[name="granted_gpus"]').fill(str(had + 1))
    admin.locator('form[action*="/approve/"] button:not([formaction])').click()
    expect(admin.locator(SAID)).to_contain_text(str(had + 1))
    lead.goto("/requests/quota/")
    expect(lead.locator('form [name="guaranteed"]')).to_have_value(str(had + 1))


@pytest.mark.parametrize("dress", DRESSES)
def test_an_sla_is_asked_for_and_holds_once_agreed(
    signed_in: SignIn, dress: dict[str, Any]
) -> None:
    lead = signed_in("minji", **dress)
    lead.goto("/requests/sla/")
    pool = lead.locator('form[method="post"] [name="pool"]')
    pool.select_option(index=1 if dress["locale"] == "ko-KR" else 0)
    lead.locator('form[method="post"] [name="tier"]').select_option(index=1)
    lead.locator('form[method="post"] [name="ends_at"]').fill("2026-12-24T09:00")
    lead.locator('[name="reason"]').fill("The demo is on Friday")
    _sound(lead)
    lead.locator('button[value="submit"]').click()
    expect(lead.locator(SAID)).to_be_visible()
    _decide(signed_in("jihye", **dress), lead.url)
    lead.reload()
    expect(lead.locator("main")).to_contain_text("Gold")
    _sound(lead)


@pytest.mark.parametrize("dress", DRESSES)
def test_what_is_rejected_says_why_to_who_asked(signed_in: SignIn, dress: dict[str, Any]) -> None:
    day = "2026-11-26" if dress["locale"] == "ko-KR" else "2026-11-27"
    lead = signed_in("minji", **dress)
    lead.goto(f"/reserve/?gpus=5&starts_at={day}T09:00&ends_at={day}T12:00&reason=Not+so+urgent")
    lead.locator('button[value="submit"]').click()
    expect(lead.locator(SAID)).to_be_visible()
    admin = signed_in("jihye", **dress)
    admin.goto(lead.url)
    admin.locator('[name="note"]').fill("Wait for the new nodes")
    _reject_button(admin).click()
    expect(admin.locator(SAID)).to_be_visible()
    _sound(admin)
    lead.reload()
    expect(lead.locator("main")).to_contain_text("Wait for the new nodes")
    _sound(lead)


@pytest.mark.parametrize("dress", DRESSES)
def test_an_admin_says_how_a_class_is_treated_and_everybody_reads_it(
    signed_in: SignIn, dress: dict[str, Any]
) -> None:
    admin = signed_in("jihye", **dress)
    admin.goto("/rules/")
    admin.locator('[name="c-interactive-placement"]').select_option("spread")
    admin.locator('[name="c-interactive-order"]').fill("7")
    admin.locator('[name="c-interactive-idle_hours"]').fill("2")
    admin.locator('button[value="classes"]').click()
    expect(admin.locator(SAID)).to_be_visible()
    _sound(admin)
    reader = signed_in("junho", **dress)
    reader.goto("/rules/")
    placed = reader.locator('[name="c-interactive-placement"]')
    expect(placed).to_have_value("spread")
    expect(placed).to_be_disabled()
    expect(reader.locator('button[value="classes"]')).to_have_count(0)
    _sound(reader)


def test_work_is_planned_on_a_telephone_in_korean(signed_in: SignIn) -> None:
    page = signed_in("jihye", viewport=NARROW, locale="ko-KR")
    page.goto("/maintenance/")
    nodes = page.locator('[name="nodes"]')
    names = [text.strip() for text in nodes.locator("option").all_inner_texts()]
    nodes.select_option(label=[next(name for name in names if "t4" in name)])
    page.locator('[name="starts_at"]').fill("2026-12-09T09:00")
    page.locator('[name="ends_at"]').fill("2026-12-09T18:00")
    page.locator('button[value="plan"]').click()
    expect(page.locator(SAID)).to_be_visible()
    _sound(page)
    page.locator('form[action*="/cancel/"] button').first.click()
    expect(page.locator(SAID)).to_be_visible()


@pytest.mark.parametrize(
    ("who", "address", "shut"),
    [
        ("junho", "/reserve/", 'button[value="submit"]'),
        ("wonho", "/maintenance/", 'button[value="plan"]'),
        ("wonho", "/quotas/", "thead a"),
        ("boram", "/slas/", "a[href$='/slas/set/']"),
    ],
)
def test_who_may_not_is_shown_the_figures_and_no_button(
    signed_in: SignIn, who: str, address: str, shut: str
) -> None:
    page = signed_in(who, viewport=WIDE)
    page.goto(address)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(shut)).to_have_count(0)
