"""Charts: drawn late and without moving anything, readable in both themes, and by keyboard."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn
from tests.browser.watching import grave_faults

SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) { window.shifted += entry.value; }
}).observe({type: "layout-shift", buffered: true});
"""


def drawn(page: Page, key: str) -> None:
    """Go to a chart and wait until it is there."""
    frame = page.locator(f"#chart-{key}")
    frame.scroll_into_view_if_needed()
    expect(frame.locator(".main-svg").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_appears_in_the_pages_colours_and_moves_nothing(
    signed_in: SignIn, scheme: str
) -> None:
    page = signed_in("jihye", color_scheme=scheme)
    page.add_init_script(SHIFTS)
    page.goto("/style/")
    for key in ("specimen-areas", "specimen-lines", "specimen-bars"):
        drawn(page, key)
    ink = page.locator("#chart-specimen-bars .xtick text").first.evaluate(
        "element => getComputedStyle(element).fill"
    )
    soft = {"light": "rgb(86, 95, 105)", "dark": "rgb(163, 173, 182)"}
    assert ink == soft[scheme]
    assert page.evaluate("window.shifted") < 0.01
    assert grave_faults(page) == []


def test_the_library_comes_only_when_a_chart_is_near(signed_in: SignIn) -> None:
    page = signed_in("jihye")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/style/")
    page.wait_for_load_state("networkidle")
    assert not any("plotly" in url for url in asked)
    drawn(page, "specimen-areas")
    assert sum("plotly-cartesian" in url for url in asked) == 1


def test_a_series_is_taken_away_and_the_table_opened_by_keyboard(signed_in: SignIn) -> None:
    page = signed_in("jihye")
    page.goto("/style/")
    drawn(page, "specimen-lines")
    chart = page.locator(".chart", has=page.locator("#chart-specimen-lines"))
    lines = chart.locator(".scatterlayer .trace")
    expect(lines).to_have_count(3)
    button = chart.get_by_role("button", name="Speech")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(lines).to_have_count(2)
    chart.get_by_text("Show as a table").focus()
    page.keyboard.press("Enter")
    expect(chart.get_by_role("columnheader", name="Speech (GPUs)")).to_be_visible()


def test_the_picture_is_saved_as_png(signed_in: SignIn, tmp_path: Path) -> None:
    page = signed_in("jihye")
    page.goto("/style/")
    drawn(page, "specimen-areas")
    chart = page.locator(".chart", has=page.locator("#chart-specimen-areas"))
    with page.expect_download() as saved:
        chart.get_by_role("button", name="Save as PNG").click()
    path = tmp_path / "chart.png"
    saved.value.save_as(path)
    assert saved.value.suggested_filename == "chart-specimen-areas.png"
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert path.stat().st_size > 20_000


@pytest.mark.parametrize("path", ["/fairness/", "/usage/?period=day", "/capacity/?show=use"])
def test_pages_that_look_back_are_readable_for_everybody(signed_in: SignIn, path: str) -> None:
    page = signed_in("jihye")
    page.goto(path)
    page.wait_for_load_state("networkidle")
    assert grave_faults(page) == []


def test_without_scripts_the_table_holds_the_figures(signed_in: SignIn, base_url: str) -> None:
    page = signed_in("jihye")
    browser = page.context.browser
    assert browser is not None
    plain = browser.new_context(
        java_script_enabled=False, storage_state=page.context.storage_state()
    ).new_page()
    plain.goto(f"{base_url}/style/")
    expect(plain.locator("#chart-specimen-areas")).to_be_hidden()
    plain.locator("#chart-specimen-areas-table > summary").click()
    expect(plain.get_by_role("columnheader", name="guaranteed (GPUs)")).to_be_visible()
    plain.context.close()
