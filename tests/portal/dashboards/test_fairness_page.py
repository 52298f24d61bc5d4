"""The Fairness page: its numbers are those of the rows, names only for those who may see them."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.scheduling.models import Tick
from portal.workloads.models import Workload
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World


@pytest.fixture
def past(world: World) -> World:
    """The world, whose one tick lies an hour back."""
    Tick.objects.update(at=world.now - timedelta(hours=1), jain=0.9)
    return world


def test_each_team_has_its_number_and_the_sentence_that_explains_it(past: World) -> None:
    page = text(get(past, "member", "/fairness/"))
    assert (
        "It held 18 GPUs on average, 12% above its fair share of 16. "
        "Of these 4 were borrowed, most from Speech. 1 of its 3 jobs still waits."
    ) in page
    assert (
        "It held 6 GPUs on average, 40% below its fair share of 10. It lent 4, most to Vision."
    ) in page
    assert "Vision Speech 4.0" in page
    assert "0.90 evenness" in page.replace("evenness (Jain), 1 is even 0.90", "0.90 evenness")


def test_jobs_of_others_are_named_to_those_alone_who_may_see_them(past: World) -> None:
    body = get(past, "member", "/fairness/").content.decode()
    assert "llm-sft-07" in body
    assert "asr-secret" not in body
    assert "asr-secret" in get(past, "admin", "/fairness/").content.decode()


def test_the_file_holds_what_the_page_shows(past: World) -> None:
    body = b"".join(get(past, "lead", "/fairness/?format=csv").streaming_content)  # type: ignore[attr-defined]
    rows = {row["Team"]: row for row in csv.DictReader(io.StringIO(body.decode("utf-8-sig")))}
    assert rows["Vision"]["Held"] == "18.0"
    assert rows["Vision"]["Borrowed"] == "4.0"
    assert rows["Speech"]["Lent"] == "4.0"


def test_each_chart_has_a_file_of_its_own(past: World) -> None:
    answer = get(past, "lead", "/fairness/?chart=held&format=csv")
    body = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    assert body.splitlines()[0] == "Time,Vision (GPUs),Speech (GPUs)"
    assert sum(line.endswith(",18.0,6.0") for line in body.splitlines()) == 1


def test_the_picture_travels_as_data_and_its_table_says_the_same(past: World) -> None:
    body = get(past, "lead", "/fairness/").content.decode()
    found = re.search(r'<script id="chart-held-data" type="application/json">(.+?)</script>', body)
    assert found is not None
    traces = json.loads(found[1])["data"]
    assert [t["name"] for t in traces] == ["Vision", "Speech"]
    assert [y for y in traces[0]["y"] if y is not None] in ([18.0], [18.0, 18.0])
    assert "Show as a table" in body


@pytest.mark.parametrize("query", ["", "?period=day", "?team={team}&pool={pool}&by=size"])
def test_it_costs_at_most_fifteen_queries(past: World, query: str) -> None:
    client = Client()
    client.force_login(past.people["admin"])
    path = "/fairness/" + query.format(team=past.vision.pk, pool=past.pool.pk)
    client.get(path)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(path).status_code == 200
    assert len(queries) <= 15, [q["sql"][:90] for q in queries]


def test_before_the_first_tick_it_says_so(past: World) -> None:
    Tick.objects.update(at=past.now - timedelta(days=30))
    Workload.objects.update(ended_at=past.now, state="succeeded")
    page = text(get(past, "lead", "/fairness/"))
    assert "Nothing was decided in this time" in page
    assert "Nobody waits" in page


def test_a_time_that_makes_no_sense_is_the_usual_one(past: World) -> None:
    page = text(get(past, "lead", "/fairness/?since=2099-01-01&until=2098-01-01&pool=x"))
    assert "It held 18 GPUs on average" in page


def test_the_api_says_the_same(past: World) -> None:
    client = Client()
    client.force_login(past.people["member"])
    rows = {r["team"]["name"]: r for r in client.get("/api/v1/fairness").json()["results"]}
    assert rows["Vision"]["allocated"] == 18_000
    assert rows["Vision"]["waits"]["still_waiting"] == 1
    pairs = client.get("/api/v1/fairness/pairs").json()["results"]
    assert [(p["borrower"]["name"], p["lender"]["name"], p["gpu_milli"]) for p in pairs] == [
        ("Vision", "Speech", 4000)
    ]
    steps = client.get(
        "/api/v1/fairness/history",
        {"team": str(past.speech.pk), "from": (past.now - timedelta(days=1)).isoformat()},
    ).json()["results"]
    known = [step for step in steps if step["teams"] is not None]
    assert [(s["jain"], s["teams"][0]["lent"]) for s in known] == [(0.9, 4000)]
    kinds = client.get("/api/v1/fairness/waits?by=size").json()["results"]
    assert sum(row["jobs"] for row in kinds) == 5
    names = [r["name"] for r in client.get("/api/v1/fairness/starving").json()["results"]]
    assert sorted(names, key=str) == [None, "llm-sft-07"]
