"""Studies and traces by the API: the same as the pages do."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from portal.common import clock
from portal.studies import working
from portal.studies.models import Study, Trace
from portal.teams.models import Role
from tests import builders
from tests.portal.studies.building import TEXT, Surroundings, a_trace

pytestmark = pytest.mark.django_db
JSON = "application/json"
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: now)


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(builders.a_user("jihye", role=Role.ADMIN))
    return client


def asked(of: Trace, **more: Any) -> dict[str, Any]:
    return {
        "name": "Shortest first?", "trace": of.pk, "nodes": "1x8", "until_second": 2000,
        "draw": "as_it_was", "change": {"kind": "rules", "rules": {"order": "sjf"}}, **more,
    }  # fmt: skip


def test_a_study_is_asked_for_run_and_read(admin: Client, now: datetime) -> None:
    made = admin.post("/api/v1/studies", asked(a_trace(now)), content_type=JSON)
    assert (made.status_code, made.json()["state"]) == (201, "queued")
    assert made.json()["base_rules"]["order"] == "fair_share"
    working.work(Surroundings(now).world)
    path = f"/api/v1/studies/{made.json()['id']}"
    told = admin.get(path).json()
    # Shortest first, worked out by hand: waits 0, 80 and 100 s.
    figure = told["figures"]["wait_p99"]
    assert (figure["changed"], figure["unit"], figure["verdict"]) == (100, "seconds", "one run")
    assert figure["low"] is None
    assert {team["name"]: team["jobs"] for team in told["teams"]} == {"red": 2, "blue": 1}
    (row,) = admin.get("/api/v1/studies?state=done").json()["results"]
    assert row["change_in_words"] == "Order: Fair share → Shortest first"
    assert admin.get("/api/v1/studies?state=queued").json()["count"] == 0


def test_the_same_key_asks_once(admin: Client, now: datetime) -> None:
    body = asked(a_trace(now))
    for _ in range(2):
        made = admin.post(
            "/api/v1/studies", body, content_type=JSON, headers={"Idempotency-Key": "k"}
        )
        assert made.status_code == 201
    assert Study.objects.count() == 1


def test_a_study_is_named_run_again_cancelled_and_deleted(admin: Client, now: datetime) -> None:
    made = admin.post("/api/v1/studies", asked(a_trace(now)), content_type=JSON).json()
    path, team = f"/api/v1/studies/{made['id']}", builders.a_team()
    said = {"name": "Named", "note": "why", "kept": True, "team": team.pk}
    told = admin.put(path, said, content_type=JSON).json()
    assert (told["name"], told["kept"], told["team"]) == ("Named", True, team.pk)
    assert admin.post(f"{path}/again").json()["seeds"] == [2]
    assert admin.post(f"{path}/cancel").json()["state"] == "cancelled"
    assert admin.post(f"{path}/cancel").status_code == 409
    assert admin.delete(path).json() == {"id": made["id"]}
    assert admin.get(path).status_code == 404


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"change": {"kind": "nonsense"}}, "change"),
        ({"change": {"kind": "rules", "rules": {"order": "nonsense"}}}, "order"),
        ({"change": {"kind": "rules", "rules": {"tick_seconds": "x"}}}, "tick_seconds"),
        ({"change": {"kind": "nodes", "pool": None, "nodes": "four"}}, "nodes"),
        ({"change": {"kind": "quota", "team": 1, "pool": 1, "guaranteed": 1}}, "change"),
        ({"trace": None}, "from_at"),
        ({"nodes": "9999999x8"}, "nodes"),
        ({"nodes": "many"}, "nodes"),
        ({"trace": None, "nodes": "", "from": "2026-10-01T00:00:00Z",
          "to": "2026-10-02T00:00:00Z"}, "jobs"),
        ({"draw": "resampled", "seeds": 2}, "seeds"),
        ({"team": 999}, "team"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_names_its_field(
    admin: Client, now: datetime, more: dict[str, Any], field: str
) -> None:
    answer = admin.post("/api/v1/studies", asked(a_trace(now), **more), content_type=JSON)
    assert answer.status_code == 422, answer.json()
    assert field in answer.json()["fields"], answer.json()
    assert not Study.objects.exists()


def test_an_unknown_word_is_refused(admin: Client, now: datetime) -> None:
    answer = admin.post("/api/v1/studies", asked(a_trace(now), sseds=3), content_type=JSON)
    assert answer.status_code == 400
    assert "sseds" in answer.json()["fields"]


def test_a_trace_comes_as_a_form_and_goes_again(admin: Client) -> None:
    file = SimpleUploadedFile("jobs.csv", TEXT.encode())
    made = admin.post("/api/v1/traces", {"name": "lab", "format": "philly", "file": file})
    assert (made.status_code, made.json()["jobs"]) == (201, 3)
    path = f"/api/v1/traces/{made.json()['id']}"
    assert admin.get(path).json()["length_seconds"] == 20
    assert admin.get("/api/v1/traces").json()["count"] == 1
    assert admin.delete(path).status_code == 200
    assert admin.get(path).status_code == 404
