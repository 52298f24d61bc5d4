"""A chart says the same in its picture, its table and its file."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import RequestFactory
from django.utils import timezone, translation

from portal.common import charts, drawing
from portal.common.charts import Chart, Series

HOUR = timedelta(hours=1)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_seoul() -> object:
    with timezone.override("Asia/Seoul"):
        yield


def a_chart(*series: Series, **others: object) -> Chart:
    values: dict[str, object] = {
        "key": "use", "title": "Use", "takeaway": "Vision uses most.", "as_of": NOON,
        "places": tuple(NOON + i * HOUR for i in range(3)), "step": HOUR, "unit": "GPUs",
        "series": series or (Series("Vision", (1, None, 2.26)),),
    }  # fmt: skip
    return Chart(**{**values, **others})  # type: ignore[arg-type]


def test_instants_travel_as_wall_time_of_the_readers_zone() -> None:
    chart = a_chart()
    assert chart.figure["data"][0]["x"][:2] == ["2026-11-30 21:00", "2026-11-30 22:00"]
    assert chart.zone == "KST"


def test_a_value_holds_to_the_end_of_the_last_step_and_a_gap_stays_a_gap() -> None:
    trace = a_chart().figure["data"][0]
    assert trace["x"][-1] == "2026-12-01 00:00"
    assert trace["y"] == [1.0, None, 2.26, 2.26]
    assert trace["connectgaps"] is False


def test_a_time_without_any_figure_is_shaded_and_said() -> None:
    chart = a_chart()
    shapes = chart.figure["layout"]["shapes"]
    assert [(s["x0"], s["x1"]) for s in shapes] == [("2026-11-30 22:00", "2026-11-30 23:00")]
    assert chart.has_gaps
    whole = a_chart(Series("a", (1, None, 2)), Series("b", (1, 1, 1)))
    assert not whole.has_gaps


def test_the_table_holds_the_same_figures() -> None:
    chart = a_chart()
    assert chart.header == ["Time", "Vision (GPUs)"]
    assert [values for _, values in chart.rows] == [["1.0"], ["–"], ["2.3"]]


def test_the_file_holds_them_unrounded_with_the_times_offset() -> None:
    request = RequestFactory().get("/fairness/", {"chart": "use", "format": "csv"})
    answer = charts.download(request, [a_chart()])
    assert answer is not None
    text = b"".join(answer).decode("utf-8-sig").splitlines()
    assert text[0] == "Time,Vision (GPUs)"
    assert text[1:] == [
        "2026-11-30T21:00:00+09:00,1", "2026-11-30T22:00:00+09:00,",
        "2026-11-30T23:00:00+09:00,2.26",
    ]  # fmt: skip


@pytest.mark.parametrize("query", [{}, {"chart": "use"}, {"chart": "other", "format": "csv"}])
def test_no_file_is_made_unless_a_chart_of_the_page_is_asked_for(query: dict[str, str]) -> None:
    assert charts.download(RequestFactory().get("/", query), [a_chart()]) is None


def test_no_two_lines_of_a_chart_differ_by_colour_alone() -> None:
    lines = [Series(str(i), (1, 2, 3)) for i in range(6)]
    dashes = [trace["line"]["dash"] for trace in a_chart(*lines).figure["data"]]
    assert len(set(dashes)) == 6


def test_what_is_borrowed_is_hatched_as_everywhere() -> None:
    area = Series("Borrowed", (1, 2, 3), "hue-2", charts.AREA, drawing.HATCHED)
    bar = Series("Borrowed", (1, 2, 3), "hue-2", charts.BAR, drawing.HATCHED)
    assert a_chart(area).figure["data"][0]["fillpattern"]["shape"] == "/"
    assert a_chart(bar).figure["data"][0]["marker"]["pattern"]["shape"] == "/"


def test_colours_are_names_so_that_one_figure_serves_both_themes() -> None:
    text = str(a_chart(Series("a", (1, 2, 3), "hue-3")).figure)
    assert "var(--hue-3)" in text
    assert "#" not in text


def test_a_name_cannot_bring_tags_of_its_own() -> None:
    trace = a_chart(Series("<b>Vision</b>", (1, 2, 3))).figure["data"][0]
    assert "<" not in trace["name"]


def test_whiskers_reach_from_the_value_to_both_ends() -> None:
    chart = a_chart(
        Series("Wait", (10, 20), form=charts.BAR, low=(8, None), high=(15, 21)),
        places=("now", "changed"), step=None, lying=True,
    )  # fmt: skip
    trace = chart.figure["data"][0]
    assert (trace["error_x"]["array"], trace["error_x"]["arrayminus"]) == ([5, 1], [2, 0])
    assert trace["y"] == ["now", "changed"]


def test_a_chart_of_nothing_says_so() -> None:
    assert a_chart(Series("a", (None, None, None))).empty
    assert a_chart(Series("a", ()), places=()).empty


def test_days_and_hours_are_written_in_the_readers_language() -> None:
    def words() -> str:
        return str(a_chart().figure["layout"]["xaxis"])

    assert "월" not in words()
    with translation.override("ko"):
        assert "%-m월 %-d일" in words()
