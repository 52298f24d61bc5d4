"""The parts pages are made of: bars, lanes, formats, CSV cells and colours."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.template import Context, Template
from django.utils import timezone, translation
from hypothesis import given
from hypothesis import strategies as st

from portal.common import csv, drawing, formats
from portal.common.drawing import DASHED, EMPTY, HATCHED, SOLID, Bar, Lane, Mark, Part, Span, Tick

NOW = datetime(2026, 11, 2, 0, 0, tzinfo=UTC)
TOKENS = Path(__file__).parents[3] / "static" / "css" / "tokens.css"


def widths(svg: str) -> list[tuple[float, float]]:
    return [
        (float(x), float(w)) for x, w in re.findall(r'<svg x="([\d.]+)%" width="([\d.]+)%"', svg)
    ]


def test_a_bar_draws_each_part_to_scale_after_the_one_before() -> None:
    bar = Bar((Part(SOLID, 14, 1), Part(HATCHED, 4, 1), Part(DASHED, 2, 1)), 24, "18 of 24")
    drawn = drawing.bar(bar)
    assert widths(drawn) == [(0.0, 58.333), (58.333, 16.667), (75.0, 8.333)]
    assert 'aria-label="18 of 24"' in drawn
    assert 'fill="url(#hatch-1)"' in drawn


def test_an_empty_part_takes_room_and_draws_nothing() -> None:
    assert widths(drawing.bar(Bar((Part(EMPTY, 1), Part(SOLID, 1, 2)), 2, ""))) == [(50.0, 50.0)]


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(0, 100))
def test_no_bar_is_fuller_than_full(amounts: list[int], total: int) -> None:
    bar = Bar(tuple(Part(SOLID, amount, 1) for amount in amounts), total, "")
    assert sum(width for _, width in widths(drawing.bar(bar))) <= 100.01


def test_marks_that_would_overlap_become_one() -> None:
    bar = Bar((), 24, "", (Mark(22, "22 guaranteed"), Mark(24, "24 limit")))
    assert "22 guaranteed · 24 limit" in drawing.bar(bar)


def test_labels_cannot_bring_markup() -> None:
    bar = Bar((Part(SOLID, 1, 1, "<script>"),), 1, '"><script>', (Mark(1, "<script>"),))
    lane = Lane("<script>", (Span(0, 1, SOLID, 1, "<script>", href='"><script>'),))
    assert "<script>" not in drawing.bar(bar) + drawing.lanes([lane], [Tick(0, "<script>")])


def test_blocks_of_a_lane_that_overlap_stand_below_one_another() -> None:
    spans = (
        Span(0, 0.5, SOLID, 1, "a"),
        Span(0.4, 0.6, SOLID, 1, "b"),
        Span(0.5, 1, SOLID, 1, "c"),
    )
    drawn = drawing.lanes([Lane("Vision", spans)], [])
    places = re.findall(r'<svg x="[^"]*" y="(\d+)"', drawn)
    assert places == ["8", "40", "8"]


@pytest.mark.parametrize(
    ("milli", "shown"),
    [(18000, "18"), (500, "0.5"), (1250, "1.25"), (1_024_000, "1,024"), (0, "0")],
)
def test_milli_gpus_read_as_gpus(milli: int, shown: str) -> None:
    assert formats.gpus(milli) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (360, "6 m"),
        (4200, "1 h 10 m"),
        (7200, "2 h"),
        (97_200, "1 d 3 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: int, shown: str) -> None:
    with translation.override("en"):
        assert formats.duration(seconds) == shown
        assert formats.duration(timedelta(seconds=seconds)) == shown


def test_a_time_shows_its_day_and_zone() -> None:
    with timezone.override("Asia/Seoul"), translation.override("en"):
        assert formats.when(NOW, NOW) == "Today 09:00 KST"
        assert formats.when(NOW + timedelta(hours=16), NOW) == "Tomorrow 01:00 KST"
        assert formats.when(NOW + timedelta(days=3), NOW) == "Thu 5 Nov 09:00 KST"
        assert formats.when(NOW) == "2 Nov 2026 09:00 KST"
        assert formats.when(NOW, NOW, inside=True) == "today 09:00 KST"
        assert formats.ago(NOW - timedelta(minutes=6), NOW) == "6 m ago"
    with timezone.override("America/Sao_Paulo"), translation.override("en"):
        assert formats.when(NOW, NOW) == "Today 21:00 UTC-03"


def test_a_korean_date_is_written_the_korean_way() -> None:
    with timezone.override("Asia/Seoul"), translation.override("ko"):
        assert formats.when(NOW + timedelta(days=3), NOW) == "11월 5일 (목) 09:00 KST"
        assert formats.when(NOW) == "2026년 11월 2일 09:00 KST"


def test_a_span_names_its_second_day_only_when_it_is_another() -> None:
    with timezone.override("Asia/Seoul"), translation.override("en"):
        assert formats.span(NOW, NOW + timedelta(hours=9), NOW) == "Today 09:00–18:00 KST"
        assert formats.span(NOW, NOW + timedelta(days=1), NOW) == "Today 09:00 – Tomorrow 09:00 KST"


@given(st.text(max_size=20))
def test_no_text_in_a_csv_cell_is_a_formula(text: str) -> None:
    assert not csv.cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-3, "-3"), (2.5, "2.5"), (None, ""), (True, "yes"), ("-3", "'-3"), ("train", "train")],
)
def test_a_csv_cell_keeps_numbers_as_numbers(value: object, shown: str) -> None:
    assert csv.cell(value) == shown


def test_csv_speaks_the_readers_language_and_zone_after_the_request_is_over() -> None:
    with timezone.override("Asia/Seoul"), translation.override("ko"):
        response = csv.response("times", [[NOW], [translation.get_language]])
    with translation.override("en"):
        body = response.getvalue().decode()
    assert body.startswith("\ufeff2026-11-02T09:00:00+09:00\r\n")


def test_an_empty_state_says_what_to_do() -> None:
    shown = Template("{% nothing_here 'Nothing waits' 'All run.' '/reserve/' 'Reserve' %}").render(
        Context()
    )
    assert "Nothing waits" in shown
    assert '<a class="btn quiet" href="/reserve/">Reserve</a>' in shown


def colours(theme: int) -> dict[str, tuple[float, float, float]]:
    """Every token's colour, light (0) or dark (1)."""
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", TOKENS.read_text())
    return {
        name: tuple(int(pair[theme][i : i + 2], 16) / 255 for i in (1, 3, 5))  # type: ignore[misc]
        for name, *pair in found
    }


def luminance(colour: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mixed(
    a: tuple[float, float, float], b: tuple[float, float, float], part: float
) -> tuple[float, float, float]:
    return tuple(x * part + y * (1 - part) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_it_stands_on(theme: int) -> None:
    colour = colours(theme)
    for text in ("ink", "soft", "accent", "good", "warn", "bad"):
        for ground in ("paper", "raise", "sunk", "accent-wash"):
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
    assert contrast(colour["ink"], colour["bad-wash"]) >= 4.5
    assert contrast(colour["paper"], colour["accent"]) >= 4.5
    assert contrast(colour["ink"], colour["idle"]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_hue_carries_a_label_and_its_hatching_is_seen(theme: int) -> None:
    colour = colours(theme)
    for number in range(1, 9):
        hue = colour[f"hue-{number}"]
        ground = mixed(hue, colour["paper"], 0.22)
        assert contrast(colour["paper"], hue) >= 4.5, number
        assert contrast(hue, ground) >= 3, number
        assert contrast(colour["ink"], mixed(hue, colour["paper"], 0.12)) >= 4.5, number
        assert contrast(hue, colour["idle"]) >= 3, number
    for control in ("line", "accent"):
        assert contrast(colour[control], colour["paper"]) >= 3
