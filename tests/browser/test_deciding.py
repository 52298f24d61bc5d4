"""What leads and admins do beside reserving: figures, agreement, ends, promises, planned work."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import SignIn
from tests.browser.watching import grave_faults, overflow

WIDE = ViewportSize(width=1280, height=900)
NARROW = ViewportSize(width=390, height=844)
DRESSES: list[Any] = [
    pytest.param({"viewport": WIDE, "locale": "en-GB"}, id="english-wide"),
    pytest.param({"viewport": NARROW, "locale": "ko-KR"}, id="korean-narrow"),
]


def _sound(page: Page) -> None:
    """What is open is no wider than the screen and has no grave fault."""
    assert overflow(page) == []
    assert grave_faults(page) == []


@pytest.mark.parametrize("dress", DRESSES)
def test_an_admin_sets_figures_sees_the_effects_and_takes_them_back(
    signed_in: SignIn, dress: dict[str, Any]
) -> None:
    page = signed_in("jihye", **dress)
    page.goto("/quotas/")
    page.locator("thead a").first.click()
    figure = page.locator('input[name$="-guaranteed"]').nth(1)
    before = int(figure.input_value())
    figure.fill(str(before + 1))
    effects = page.locator("#effects")
    expect(effects).to_have_class(re.compile(r"\bgood\b"))
    expect(effects).to_contain_text(f"{before} → {before + 1}")
    _sound(page)
    page.locator('button[value="save"]').click()
    expect(page.locator(".messages .success")).to_be_visible()
    expect(page.locator('input[name$="-guaranteed"]').nth(1)).to_have_value(str(before + 1))
    page.locator("tbody th a").nth(1).click()
    page.locator("form[action*='undo'] button").click()
    expect(page.locator(".thread li").first).to_contain_text(f"{before + 1} → {before}")
    _sound(page)


def test_a_figure_that_does_not_fit_is_refused_where_it_was_typed(signed_in: SignIn) -> None:
    page = signed_in("jihye", viewport=WIDE)
    page.goto("/quotas/")
    page.locator("thead a").first.click()
    page.locator('input[name$="-guaranteed"]').nth(1).fill("9999")
    page.locator('input[name$="-limit"]').nth(1).fill("")
    effects = page.locator("#effects")
    expect(effects).to_have_class(re.compile(r"\bbad\b"))
    expect(effects).to_contain_text("Cannot be saved.")


def test_a_slot_is_drawn_over_the_calendar_and_checked_as_if_typed(signed_in: SignIn) -> None:
    page = signed_in("minji", viewport=WIDE)
    page.goto("/reserve/?span=week&day=2026-11-09")
    lane = page.locator("#calendar .lanes > div:not(.hours) > svg").first
    box = lane.bounding_box()
    assert box is not None
    # Tuesday noon to Wednesday noon: one and a half of seven days, and a day on.
    middle = box["y"] + box["height"] - 4
    page.mouse.move(box["x"] + box["width"] * 1.5 / 7, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 2.5 / 7, middle, steps=4)
    page.mouse.up()
    expect(page.get_by_label("From", exact=True)).to_have_value("2026-11-10T12:00")
    expect(page.get_by_label("Until", exact=True)).to_have_value("2026-11-11T12:00")
    expect(page.locator("#verdict")).to_contain_text("Tue 10 Nov 12:00")
    expect(page.locator("#calendar")).to_contain_text("your draft")


@pytest.mark.parametrize("dress", DRESSES)
def test_within_the_guarantee_a_lead_holds_extends_and_gives_back_alone(
    signed_in: SignIn, dress: dict[str, Any]
) -> None:
    korean = dress["locale"] == "ko-KR"
    day = "2026-11-20" if korean else "2026-11-18"
    page = signed_in("minji", **dress)
    page.goto(
        f"/reserve/?gpus=1&source=guarantee&starts_at={day}T09:00&ends_at={day}T12:00"
        "&reason=Own+guarantee"
    )
    page.locator('button[value="submit"]').click()
    expect(page.locator(".messages .success")).to_contain_text("R-")
    page.locator("a[href*='/requests/extension/']").click()
    page.locator('[name="ends_at"]').fill(f"{day}T15:00")
    page.locator('[name="reason"]').fill("Not done yet")
    page.locator('button[value="check"]').click()
    expect(page.locator("#verdict")).to_have_class(re.compile(r"\bgood\b"))
    _sound(page)
    page.locator('[name="reason"]').fill("Not done yet")
    page.locator('button[value="submit"]').click()
    expect(page.locator(".messages .success")).to_contain_text("R-")
    expect(page.locator("main")).to_contain_text("15:00")
    page.locator("a[href*='/requests/give-back/']").click()
    page.locator('[name="ends_at"]').fill("")
    page.locator('[name="reason"]').fill("Not needed after all")
    page.locator('button[value="submit"]').click()
    expect(page.locator(".messages .success")).to_contain_text("R-")
    _sound(page)


def test_a_lead_answers_for_what_came_too_late(signed_in: SignIn) -> None:
    page = signed_in("minji", viewport=WIDE)
    page.goto("/slas/")
    expect(page.locator("main")).to_contain_text("Gold")
    page.get_by_role("link", name="Acknowledge").first.click()
    page.get_by_label("What happened").fill("The pool was full; more is asked for")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("main")).to_contain_text("The pool was full; more is asked for")
    _sound(page)


def test_an_admin_sees_what_planned_work_would_break_before_planning_it(
    signed_in: SignIn,
) -> None:
    page = signed_in("jihye", viewport=WIDE)
    page.goto("/maintenance/")
    nodes = page.get_by_label("Nodes")
    names = [text.strip() for text in nodes.locator("option").all_inner_texts()]
    nodes.select_option(label=[name for name in names if "a100" in name])
    page.get_by_label("From", exact=True).fill("2026-12-07T09:00")
    page.get_by_label("Until", exact=True).fill("2026-12-07T18:00")
    expect(page.locator("#work-effects")).to_contain_text("are missing")
    nodes.select_option(label=[next(name for name in names if "t4" in name)])
    page.get_by_role("button", name="Plan it").click()
    expect(page.locator(".messages .success")).to_contain_text("Planned for 1 node.")
    _sound(page)
    page.get_by_role("button", name=re.compile("Call off")).first.click()
    expect(page.locator("main")).to_contain_text("Every promise is covered by nodes")


def test_two_admins_have_to_agree_where_a_rule_says_so(signed_in: SignIn) -> None:
    admin = signed_in("jihye", viewport=WIDE)
    admin.goto("/rules/")
    admin.get_by_label("From so many GPUs").fill("4")
    admin.get_by_role("button", name="Add the rule").click()
    expect(admin.locator(".messages .success")).to_be_visible()
    _sound(admin)
    lead = signed_in("minji", viewport=WIDE)
    lead.goto(
        "/reserve/?gpus=4&starts_at=2026-11-25T09:00&ends_at=2026-11-25T12:00&reason=Four+of+them"
    )
    lead.get_by_role("button", name="Submit").click()
    address = lead.url
    for who, says in (("jihye", "1 more person has to agree"), ("seungmin", "R-")):
        page = signed_in(who, viewport=WIDE)
        page.goto(address)
        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".messages .success")).to_contain_text(says)
    admin.goto("/rules/")
    admin.get_by_role("button", name="Drop").click()
    expect(admin.locator("main")).not_to_contain_text("Drop")
