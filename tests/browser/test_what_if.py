"""The What-if lab from the question to the answer, and a policy tried, applied and taken back."""

import re

from playwright.sync_api import Page, expect

from tests.browser.backstage import Backstage
from tests.browser.conftest import SignIn
from tests.browser.watching import grave_faults

MINUTE = 60_000


def test_a_study_runs_from_the_question_to_the_comparison_in_a_process_of_its_own(
    signed_in: SignIn,
) -> None:
    page = signed_in("jihye")
    page.goto("/what-if/")
    page.get_by_role("link", name="Ask what if").click()
    page.get_by_role("link", name="An uploaded trace").click()
    page.get_by_label("Shortest first").check()
    page.get_by_label("Trace", exact=True).select_option(index=0)
    page.get_by_label("Nodes × GPUs of each").fill("1x8")
    page.get_by_label("Take so many hours").fill("2")
    page.get_by_label("Exactly as they came").check()
    page.get_by_label("Name", exact=True).fill("Three jobs by hand")
    page.get_by_role("button", name="Run it").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Three jobs by hand")
    # The page follows the study by itself until it is done.
    expect(page.locator("#progress progress")).to_have_count(0, timeout=MINUTE)
    page.reload()
    whole = page.locator("section").filter(has=page.get_by_role("heading", name="Both sides"))
    # Fair share among two teams that have used nothing serves the oldest first: waits 0, 90 and
    # 1,080 s. Shortest first: 0, 80 and 100 s.
    expect(whole.locator("tr").filter(has_text="Wait, p90")).to_contain_text("1 m 40 s")
    expect(whole.locator("tr").filter(has_text="Wait, p90")).to_contain_text("one run")
    frame = page.locator("[data-chart]").first
    frame.scroll_into_view_if_needed()
    expect(frame).to_have_attribute("data-drawn", "", timeout=15_000)
    assert grave_faults(page) == []


def test_a_study_is_read_in_korean_and_shared_by_its_link(
    signed_in: SignIn, portal: Backstage
) -> None:
    (study_id,) = portal.ids["study_id"]
    page = signed_in("jihye")
    page.goto(f"/what-if/{study_id}/describe/")
    page.get_by_label("Shared with").select_option(label="Research / Vision")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("main")).to_contain_text("Vision")
    signed_in("junho").close()
    reader = signed_in("junho", locale="ko-KR")
    reader.goto(f"/what-if/{study_id}/")
    expect(reader.get_by_role("heading", level=1)).to_contain_text("Shortest first?")
    expect(reader.get_by_role("link", name=re.compile("Delete|삭제"))).to_have_count(0)
    assert grave_faults(reader) == []


def test_a_policy_is_tried_applied_and_taken_back_by_keyboard(signed_in: SignIn) -> None:
    page = signed_in("jihye")
    page.goto("/policy/")
    page.get_by_role("link", name="Change it").press("Enter")
    _choose(page, "Shortest first")
    page.get_by_role("button", name="See what the next tick would do").press("Enter")
    tried = page.locator("#dry-run")
    expect(tried).to_contain_text("Fair share → Shortest first")
    expect(page.get_by_role("heading", name="Dry run on what is there now")).to_be_focused()
    assert grave_faults(page) == []
    page.get_by_label("Why").fill("Short ones first, for a day.")
    page.get_by_role("button", name="Apply it from the next tick on").press("Enter")
    expect(page.locator("main")).to_contain_text("Short ones first, for a day.")
    expect(page.locator("table.rules")).to_contain_text("Shortest first")
    page.get_by_role("link", name="Undo the last change").press("Enter")
    page.get_by_label("Why").fill("The day is over.")
    page.get_by_role("button", name="Undo it").press("Enter")
    expect(page.locator("table.rules")).to_contain_text("Fair share")
    assert grave_faults(page) == []


def _choose(page: Page, label: str) -> None:
    """Choose a radio button as the keyboard does."""
    page.get_by_label(label).focus()
    page.keyboard.press("Space")
