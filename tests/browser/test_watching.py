"""What looks over the pages would notice what it looks for."""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser.watching import Watch, grave_faults, overflow

BAD = """<!doctype html><html lang="en"><title>x</title><main><h1>x</h1>
<img src="data:," id="mute"><p id="pale"><span style="color:#ccc;background:#fff">pale</span></p>
<div style="width:3000px">wide</div></main></html>"""


def test_pale_text_a_picture_without_words_and_a_wide_part_are_noticed(
    opened: Callable[..., Page],
) -> None:
    page = opened(viewport={"width": 390, "height": 844})
    page.set_content(BAD)
    found = " ".join(grave_faults(page))
    assert "image-alt at ['#mute']" in found
    assert "color-contrast at ['span']" in found
    assert "3" in overflow(page)[0]
    assert grave_faults(page, "image-alt") != []


def test_other_hosts_and_errors_are_noticed(opened: Callable[..., Page], watch: Watch) -> None:
    page = opened()
    page.set_content(BAD)
    page.evaluate("fetch('http://127.0.0.2:9/').catch(() => console.error('lost'))")
    page.wait_for_timeout(300)
    assert any("another host: http://127.0.0.2:9/" in fault for fault in watch.faults)
    assert any(fault.endswith("lost") for fault in watch.faults)
    watch.expect("")
