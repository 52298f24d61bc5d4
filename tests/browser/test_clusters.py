"""An admin finds drift and takes it back; a member fills in a job and copies its manifest."""

import re

from playwright.sync_api import expect

from tests.browser.backstage import Backstage
from tests.browser.conftest import SignIn


def test_a_job_is_weighed_as_it_is_filled_in_and_its_manifest_copied(signed_in: SignIn) -> None:
    page = signed_in("junho", permissions=["clipboard-read", "clipboard-write"])
    page.goto("/")
    page.get_by_role("link", name="New job").first.click()
    verdict = page.locator("#verdict")
    manifest = page.locator("#manifest-text")
    expect(manifest).to_contain_text("kind: Job")

    page.get_by_label("GPUs of a pod").fill("64")
    expect(verdict).to_contain_text("It would not start as things are.")
    page.get_by_label("GPUs of a pod").fill("1")
    page.get_by_label("Kind").select_option("RayJob")
    page.get_by_label("Name", exact=True).fill("rank-all")
    expect(manifest).to_contain_text("name: rank-all")
    expect(manifest).to_contain_text("kind: RayJob")
    expect(verdict).to_contain_text(re.compile("It would (start|wait)"))

    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == manifest.text_content()

    page.get_by_label("Name", exact=True).fill("No_Name")
    expect(verdict).to_contain_text("Small letters, digits and hyphens")
    expect(manifest).to_have_count(0)
    # What is still on its way when a page closes would read as a fault.
    page.wait_for_load_state("networkidle")


def test_an_admin_sees_who_holds_a_field_and_takes_it_back(
    signed_in: SignIn, portal: Backstage
) -> None:
    page = signed_in("jihye")
    page.goto("/clusters/")
    page.locator("main").get_by_role("link").filter(has_text="seoul-1").click()
    page.get_by_label("Held by").select_option("kubectl-edit")
    page.get_by_label("What differs").select_option("field")
    page.get_by_role("button", name="Filter").click()
    row = page.locator("tbody tr").filter(has_text="speech/evenshare-guaranteed-a100")
    expect(row).to_contain_text("99")
    row.get_by_role("link", name="Take over").click()
    page.get_by_role("button", name="Take it over").click()
    expect(page.get_by_role("status").first).to_contain_text("is as wanted again")


def test_a_sync_is_paused_and_resumed_by_keyboard_alone(signed_in: SignIn) -> None:
    page = signed_in("jihye")
    page.goto("/clusters/")
    page.locator("main").get_by_role("link").filter(has_text="seoul-1").press("Enter")
    page.get_by_role("link", name="Pause").press("Enter")
    page.get_by_label("Why").press_sequentially("Moving racks")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("nothing is written to it")
    expect(page.locator("main")).to_contain_text("Moving racks")
    page.get_by_role("link", name="Resume").press("Enter")
    page.get_by_role("button", name="Resume").press("Enter")
    expect(page.get_by_role("link", name="Pause")).to_be_visible()
