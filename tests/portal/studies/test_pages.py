"""The pages of the What-if lab: what they ask, show and refuse."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.html import strip_tags

from portal.common import clock
from portal.inventory.models import Pool
from portal.studies import models, working
from portal.studies.models import Draw, Study, StudyState, Trace
from portal.teams.models import Role, Team
from tests import builders
from tests.portal.studies.building import TEXT, Surroundings, a_study, a_trace

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: now)


@pytest.fixture
def admin() -> Client:
    return signed_in("jihye", Role.ADMIN)


def signed_in(name: str, role: Role, team: Team | None = None) -> Client:
    client = Client()
    client.force_login(builders.a_user(name, role=role, team=team))
    return client


def words(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(strip_tags(answer.content.decode()).split())


@pytest.fixture
def done(now: datetime) -> Study:
    """The study worked out by hand, run to its end."""
    study = a_study(now)
    working.work(Surroundings(now).world)
    return study


def test_an_empty_lab_offers_a_first_study(admin: Client) -> None:
    assert "Upload a trace to begin with" in words(admin, "/what-if/")
    builders.a_pool()
    assert "Try shortest first on last week" in words(admin, "/what-if/")
    assert "Nothing was shared with you yet" in words(signed_in("a", Role.MEMBER), "/what-if/")


def test_the_study_worked_out_by_hand_is_shown_with_its_figures(admin: Client, done: Study) -> None:
    said = words(admin, f"/what-if/{done.pk}/")
    assert "Order: First come, first served → Shortest first" in said
    # p90: 1,080 s before, 100 s after.
    assert "Wait, p90 Nine jobs in ten waited no longer. 18 m 1 m 40 s −16 m 20 s" in said
    assert "Allocated GPU time that was held, of all there was. 55.5 % 55.5 %" in said
    assert "This is one run of the very jobs that came." in said
    assert "18 m → 1 m 20 s" in said


def test_its_figures_leave_as_csv(admin: Client, done: Study) -> None:
    answer = admin.get(f"/what-if/{done.pk}/figures.csv")
    lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()  # type: ignore[attr-defined]
    assert ",wait_p90,seconds,1080.0,100.0,-980.0,,,1,1,one run" in lines
    # Red is A and C: 0 and 1,080 s before, 0 and 80 s after.
    assert "red,wait_p99,seconds,1080.0,80.0,-1000.0,,,1,1,one run" in lines


@pytest.mark.parametrize("state", StudyState.values)
def test_a_study_in_any_state_is_shown(admin: Client, now: datetime, state: str) -> None:
    study = a_study(now)
    ended = None if state in models.OPEN_STATES else now
    Study.objects.filter(pk=study.pk).update(
        state=state, ended_real_at=ended, started_real_at=now - DAY / 24, done_share=0.5,
        doing={"side": "base", "seed": 3}, message=models.TOO_LONG if state == "failed" else "",
    )  # fmt: skip
    said = words(admin, f"/what-if/{study.pk}/")
    told = {
        "queued": "It begins within a minute.", "running": "Seed 3, as it is · about 1 h left",
        "failed": "It took longer than a study may.", "cancelled": "It was cancelled",
        "done": "What was replayed",
    }  # fmt: skip
    assert told[state] in said


def test_a_study_is_asked_for_and_stands_in_the_queue(
    admin: Client, now: datetime, django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pool = builders.a_pool(nodes=2)
    woken: list[bool] = []
    monkeypatch.setattr("portal.studies.starting.wake", lambda: woken.append(True))
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin.post("/what-if/new/?change=order", asked_of(pool, now) | {"value": "sjf"})
    study = Study.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/what-if/{study.pk}/")
    assert study.change == {"kind": "rules", "rules": {"order": "sjf"}}
    assert study.seeds == [1, 2, 3]
    assert (study.state, study.draw) == (StudyState.QUEUED, Draw.RESAMPLED)
    assert woken == [True]


def asked_of(pool: Pool, now: datetime) -> dict[str, Any]:
    return {
        "name": "Shortest first?", "cluster": pool.cluster_id,
        "from_at": f"{now - 7 * DAY:%Y-%m-%dT%H:%M}", "to_at": f"{now - DAY:%Y-%m-%dT%H:%M}",
        "draw": "resampled", "seeds": 3, "first_seed": 1, "shared": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said", "told"),
    [
        ("order", {"value": "fair_share"}, "That is what holds already: nothing would change."),
        ("order", {"value": "sjf", "to_at": "2027-01-01T00:00"}, "The period must be past."),
        ("order", {"value": "sjf", "from_at": "2026-01-01T00:00"}, "The period has at most 62 days"),
        ("order", {"value": "sjf", "from_at": "0001-01-01T00:00", "to_at": "0001-01-02T00:00"},
         "Say from when until when."),
        ("order", {}, "This field is required."),
        ("nodes", {"nodes_by": "-2"}, "The pool has 2 nodes; at least one has to stay."),
        ("nodes", {"nodes_by": "0"}, "Say how many nodes come"),
        ("quota", {"guaranteed": "9", "limit": "8"}, "The limit is below the guarantee."),
        ("reserve", {"gpus": "4", "starts_at": "2026-11-20T00:00", "ends_at": "2026-11-21T00:00"},
         "The reservation is not in the period."),
        ("unreserve", {}, "This field is required."),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_at_once(
    admin: Client, now: datetime, change: str, said: dict[str, str], told: str
) -> None:
    pool, team = builders.a_pool(nodes=2), builders.a_team()
    asked = asked_of(pool, now) | {"pool": pool.pk, "team": team.pk} | said
    answer = admin.post(f"/what-if/new/?change={change}", asked)
    assert answer.status_code == 422
    assert told in answer.content.decode().replace("&#x27;", "'")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("change", "said", "kept"),
    [
        ("preemption", {"value": "yes"}, {"rules": {"preemption": {"enabled": True}}}),
        ("half_life", {"value": "2"}, {"rules": {"half_life_seconds": 172_800}}),
        ("nodes", {"nodes_by": "3"}, {"nodes": 3}),
        ("quota", {"guaranteed": "5", "limit": ""}, {"guaranteed": 5, "limit": None}),
        ("reserve", {"gpus": "4", "starts_at": "2026-10-30T00:00", "ends_at": "2026-10-31T00:00"},
         {"gpus": 4, "starts_at": int(datetime(2026, 10, 29, 15, tzinfo=UTC).timestamp())}),
    ],
)  # fmt: skip
def test_each_kind_of_change_is_kept_as_asked(
    admin: Client, now: datetime, change: str, said: dict[str, str], kept: dict[str, Any]
) -> None:
    pool, team = builders.a_pool(nodes=2), builders.a_team()
    asked = asked_of(pool, now) | {"pool": pool.pk, "team": team.pk} | said
    assert admin.post(f"/what-if/new/?change={change}", asked).status_code == 302
    assert kept.items() <= Study.objects.get().change.items()


def test_a_trace_is_uploaded_used_and_deleted_once_nothing_uses_it(
    admin: Client, now: datetime
) -> None:
    file = SimpleUploadedFile("jobs.csv", TEXT.encode())
    answer = admin.post("/what-if/traces/new/", {"name": "lab", "form": "philly", "file": file})
    assert answer.status_code == 302
    trace = Trace.objects.get()
    assert (trace.jobs, trace.first_second, trace.last_second) == (3, 0, 20)
    asked = {
        "name": "on a trace", "cluster": builders.a_cluster().pk, "jobs": trace.pk,
        "nodes": "1x8", "length_hours": "1", "draw": "as_it_was", "seeds": 3, "first_seed": 1,
        "value": "sjf",
    }  # fmt: skip
    answer = admin.post("/what-if/new/?jobs_of=trace&change=order", asked)
    assert answer.status_code == 302
    study = Study.objects.get()
    assert (study.nodes, study.until_second, study.cluster_id) == ("1x8", 3600, None)
    assert "lab" in words(admin, "/what-if/traces/")
    assert admin.post(f"/what-if/traces/{trace.pk}/delete/").status_code == 409
    study.delete()
    assert admin.post(f"/what-if/traces/{trace.pk}/delete/").status_code == 302
    assert not Trace.objects.exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"nothing,of,that\n1,2,3\n", "This cannot be read as philly"),
        (TEXT.splitlines()[0].encode() + b"\n", "The trace holds no jobs."),
        (b"\x1f\x8b\x08broken", "The file is packed, and damaged."),
        (
            gzip.compress(TEXT.encode() + b"x" * (2 << 20)),
            "The trace is larger than 1 MiB unpacked.",
        ),
    ],
)
def test_a_file_that_is_no_trace_is_refused(
    admin: Client, settings: Any, text: bytes, told: str
) -> None:
    settings.TRACE_MIB = 1
    file = SimpleUploadedFile("jobs.csv", text)
    answer = admin.post("/what-if/traces/new/", {"name": "lab", "form": "philly", "file": file})
    assert answer.status_code == 422
    assert told in answer.content.decode()


def test_a_study_is_named_kept_and_shared_with_a_team_that_then_reads_it(
    admin: Client, done: Study
) -> None:
    vision, search = builders.a_team("vision"), builders.a_team("search")
    path = f"/what-if/{done.pk}/"
    member = signed_in("junho", Role.MEMBER, vision)
    assert member.get(path).status_code == 404
    said = {"name": "Shared", "note": "See p99.", "is_kept": "on", "team": vision.pk}
    assert admin.post(f"{path}describe/", said).status_code == 302
    assert "See p99." in words(member, path)
    assert "Shared" in words(member, "/what-if/")
    assert signed_in("other", Role.MEMBER, search).get(path).status_code == 404
    assert member.post(f"{path}delete/").status_code == 404
    assert "wono" not in words(signed_in("wonho", Role.AUDITOR), path)


def test_an_admin_of_a_branch_runs_for_that_branch(now: datetime) -> None:
    vision = builders.a_team("vision")
    pool = builders.a_pool(nodes=2)
    client = signed_in("branch", Role.ADMIN, vision)
    asked = asked_of(pool, now) | {"value": "sjf"}
    other = builders.a_team("search")
    asked["shared"] = str(other.pk)
    assert client.post("/what-if/new/?change=order", asked).status_code == 422
    asked["shared"] = ""
    assert client.post("/what-if/new/?change=order", asked).status_code == 302
    study = Study.objects.get()
    assert study.team == vision
    assert client.get(f"/what-if/{study.pk}/").status_code == 200


def test_a_study_is_cancelled_run_again_and_deleted_by_hand(admin: Client, now: datetime) -> None:
    study = a_study(now)
    path = f"/what-if/{study.pk}/"
    assert admin.get(f"{path}cancel/").status_code == 200
    assert admin.post(f"{path}cancel/").status_code == 302
    assert admin.post(f"{path}cancel/").status_code == 409
    answer = admin.post(f"{path}again/")
    new = Study.objects.latest("id")
    assert answer["Location"] == f"/what-if/{new.pk}/" != path
    assert admin.post(f"{path}delete/")["Location"] == "/what-if/"
    assert list(Study.objects.all()) == [new]


def test_the_list_filters_and_exports(admin: Client, now: datetime) -> None:
    a_study(now, name="alpha")
    a_study(now, name="beta")
    Study.objects.filter(name="beta").update(state="done", ended_real_at=now)
    assert "alpha" in words(admin, "/what-if/?state=queued")
    assert "beta" not in words(admin, "/what-if/?state=queued")
    assert "alpha" not in words(admin, "/what-if/?q=bet")
    answer = admin.get("/what-if/?format=csv")
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert "alpha" in text
    assert "queued" in text


def test_pages_ask_few_queries_however_much_they_show(
    admin: Client, done: Study, now: datetime, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    for number in range(12):
        a_study(now, name=f"study {number}")
    for path in ("/what-if/", f"/what-if/{done.pk}/", "/what-if/new/", "/what-if/traces/"):
        admin.get(path)
        with django_assert_max_num_queries(12, info=path):
            admin.get(path)
    assert a_trace(now).jobs == 3
