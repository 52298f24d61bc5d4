"""What a page owes whoever uses it: it keeps their place, names what is wrong, waits for them."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.backstage import Backstage
from tests.browser.conftest import SignIn, fill_in_sign_in
from tests.browser.watching import Watch, grave_faults


@pytest.mark.parametrize(
    ("button", "attribute", "value"), [("Dark", "data-theme", "dark"), ("한국어", "lang", "ko")]
)
def test_theme_and_language_change_without_losing_the_place(
    signed_in: SignIn, button: str, attribute: str, value: str
) -> None:
    # Somebody of their own: what is chosen stays with the person.
    page = signed_in("jiwoo")
    address = "/queue/?state=running&live=off"
    page.goto(address)
    page.get_by_role("button", name=button).click()
    expect(page.locator("html")).to_have_attribute(attribute, value)
    assert page.url.endswith(address)
    page.goto("/")
    expect(page.locator("html")).to_have_attribute(attribute, value)
    page.locator("[name=language][value=en]:visible").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_chosen_dark_is_as_readable_as_the_devices_own(signed_in: SignIn) -> None:
    page = signed_in("jiwoo", color_scheme="light")
    page.goto("/")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert grave_faults(page) == []
    page.get_by_role("button", name="Device").click()


def test_what_cannot_be_granted_says_why_before_it_is_asked(signed_in: SignIn) -> None:
    page = signed_in("minji")
    _fill_in(page, gpus="30")
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("limit")
    expect(verdict.get_by_role("link").first).to_be_visible()


def test_a_refused_request_names_its_reasons_and_takes_the_keyboard_there(
    signed_in: SignIn, watch: Watch
) -> None:
    page = signed_in("minji")
    _fill_in(page, gpus="2", begins="2020-01-01T10:00", ends="2020-01-01T12:00")
    page.get_by_label("What it is for").fill("Yesterday's run")
    page.get_by_role("button", name="Submit").click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("past")
    # What was typed is still there.
    expect(page.get_by_label("What it is for")).to_have_value("Yesterday's run")
    assert grave_faults(page) == []
    # From the summary a link leads to the field.
    summary.get_by_role("link").first.click()
    expect(page.get_by_label("From", exact=True)).to_be_focused()
    watch.expect("422")


def test_an_admin_who_rejects_without_a_word_is_asked_for_one(
    signed_in: SignIn, portal: Backstage, watch: Watch
) -> None:
    page = signed_in("seungmin")
    page.goto("/requests/")
    page.get_by_role("link", name="Search").or_(
        page.get_by_role("row", name="Search").get_by_role("link")
    ).first.click()
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_label("Note")).to_have_attribute("aria-invalid", "true")
    watch.expect("422")


def test_who_was_signed_out_comes_back_to_the_page_they_wanted(signed_in: SignIn) -> None:
    page = signed_in("junho")
    page.goto("/queue/?state=running")
    page.context.clear_cookies()
    page.goto("/capacity/?live=off")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    fill_in_sign_in(page, "junho")
    page.wait_for_url("**/capacity/?live=off")


def test_a_live_page_of_who_was_signed_out_asks_to_sign_in_and_comes_back(
    signed_in: SignIn,
) -> None:
    page = signed_in("junho")
    page.goto("/queue/?state=running")
    page.context.clear_cookies()
    page.evaluate("htmx.ajax('GET', location.href, {target: '#queue', select: '#queue'})")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    fill_in_sign_in(page, "junho")
    page.wait_for_url("**/queue/?state=running")


def test_a_live_part_keeps_what_is_open(signed_in: SignIn) -> None:
    page = signed_in("minji")
    page.goto("/capacity/")
    page.locator("#nodes-table > summary").click()
    with page.expect_response(lambda answer: "/capacity/" in answer.url):
        page.evaluate("htmx.trigger('#capacity', 'every')")
        page.evaluate(
            "htmx.ajax('GET', location.href, {source: '#capacity', target: '#capacity',"
            " select: '#capacity', swap: 'outerHTML'})"
        )
    expect(page.locator("#nodes-table")).to_have_attribute("open", "")


def _fill_in(
    page: Page, *, gpus: str, begins: str = "2026-11-05T10:00", ends: str = "2026-11-05T12:00"
) -> None:
    page.goto("/reserve/")
    page.get_by_role("navigation", name="Pools").get_by_role("link", name="a100").click()
    page.get_by_label("GPUs", exact=True).fill(gpus)
    page.get_by_label("From", exact=True).fill(begins)
    page.get_by_label("Until", exact=True).fill(ends)
