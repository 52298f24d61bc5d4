"""The room's addresses under /api/v1, walked as those who may and those who may not."""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from portal.common import clock
from portal.inventory.models import Pool
from portal.scheduling import selectors, services
from portal.scheduling.models import Forecast, Policy, Tick
from portal.teams.models import Role, Team, User
from portal.workloads.models import Workload
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: now)


@pytest.fixture
def vision() -> Team:
    return builders.a_team("vision")


@pytest.fixture
def pool(vision: Team, now: datetime) -> Pool:
    pool = builders.a_pool(nodes=1, gpus=4)
    builders.a_quota(vision, pool, guaranteed=4, limit=4)
    hour = timedelta(hours=1)
    builders.a_workload(vision, pool, "fits", gpu_milli=3000, submitted_at=now - 2 * hour)
    builders.a_workload(vision, pool, "waits", gpu_milli=2000, submitted_at=now - hour)
    builders.a_workload(builders.a_team("speech"), pool, "theirs", submitted_at=now - hour)
    pool.cluster.seen_real_at = now
    pool.cluster.save()
    return pool


@pytest.fixture
def tick(pool: Pool, now: datetime) -> Tick:
    return services.run_tick(cluster_id=pool.cluster_id, now=now, real_now=now)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def member(vision: Team) -> Client:
    return signed_in(builders.a_user("minji", Role.MEMBER, vision))


@pytest.fixture
def admin() -> Client:
    return signed_in(builders.a_user("boss", Role.ADMIN))


@pytest.mark.usefixtures("tick")
def test_the_list_tells_why_each_job_waits(member: Client) -> None:
    body = member.get("/api/v1/workloads?state=waiting&sort=position").json()
    assert body["count"] == 3
    shown = {row["title"]: row for row in body["results"]}
    assert set(shown) == {"fits", "waits", "a job of Speech"}
    waits = shown["waits"]
    assert waits["reason"] == "quota_exceeded"
    assert waits["sentence"]["strong"] == "1 too many"
    assert waits["waited_seconds"] == 3600
    hidden = shown["a job of Speech"]
    assert (hidden["name"], hidden["person"], hidden["detail"]) == (None, None, {})
    assert hidden["reason"] == "no_quota_in_pool"


@pytest.mark.usefixtures("tick")
def test_sentences_come_in_the_askers_language(member: Client) -> None:
    row = member.get("/api/v1/workloads?q=waits", headers={"Accept-Language": "en"}).json()
    assert row["results"][0]["sentence"]["text"] == (
        "The limit of Vision is 4 and 3 are in use; it asks for 2: 1 too many."
    )


@pytest.mark.usefixtures("tick")
@pytest.mark.parametrize(
    ("query", "count"),
    [("team=1000000", 0), ("kind=training", 0), ("kind=batch", 2), ("q=wait", 1), ("state=failed", 0),
     ("page_size=1", 3), ("state=waiting,running", 3)],
)  # fmt: skip
def test_the_list_filters(member: Client, query: str, count: int) -> None:
    assert member.get(f"/api/v1/workloads?{query}").json()["count"] == count


@pytest.mark.parametrize("query", ["state=asleep", "kind=x", "sort=name", "team=x", "pool=-1"])
def test_a_filter_that_makes_no_sense_is_refused(member: Client, query: str) -> None:
    answer = member.get(f"/api/v1/workloads?{query}")
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert list(answer.json()["fields"]) == [query.partition("=")[0]]


def test_a_workload_is_told_in_full_with_its_decisions(member: Client, tick: Tick) -> None:
    job = Workload.objects.get(name="fits")
    body = member.get(f"/api/v1/workloads/{job.pk}").json()
    assert body["verb"] == "start"
    assert body["sentence"]["text"] == "It may start now, on h100-0."
    assert body["stages"]["submitted_at"] == "2026-11-01T22:00:00Z"
    assert [d["tick"] for d in body["decisions"]] == [tick.pk]
    listed = member.get(f"/api/v1/workloads/{job.pk}/decisions").json()
    assert listed["results"] == body["decisions"]


@pytest.mark.parametrize("tail", ["", "/decisions"])
def test_anothers_workload_and_an_unknown_one_read_alike(
    member: Client, tick: Tick, tail: str
) -> None:
    theirs = Workload.objects.get(name="theirs")
    answers = [member.get(f"/api/v1/workloads/{pk}{tail}").content for pk in (theirs.pk, 10**6)]
    assert answers[0] == answers[1]
    assert b"not_found" in answers[0]


def test_the_snapshot_is_for_those_who_oversee_everything(
    member: Client, admin: Client, vision: Team, tick: Tick
) -> None:
    address = f"/api/v1/ticks/{tick.pk}/snapshot"
    answer = admin.get(address)
    assert answer.content == selectors.get_snapshot(tick_id=tick.pk)
    assert answer["Content-Disposition"].endswith(f'snapshot-{tick.pk}.json"')
    of_branch = signed_in(builders.a_user("head", Role.ADMIN, vision))
    assert [c.get(address).status_code for c in (member, of_branch)] == [404, 404]
    Tick.objects.update(snapshot=None)
    assert admin.get(address).json()["code"] == "gone"
    assert admin.get("/api/v1/ticks/999999/snapshot").status_code == 404


def test_ticks_are_open_but_their_messages_are_not(
    member: Client, admin: Client, tick: Tick
) -> None:
    Tick.objects.update(message="More pods than devices on h100-0")
    address = f"/api/v1/ticks/{tick.pk}"
    assert member.get(address).json()["message"] is None
    assert "h100-0" in admin.get(address).json()["message"]
    body = member.get(f"/api/v1/ticks?cluster={tick.cluster_id}&state=done").json()
    assert (body["count"], body["results"][0]["starts"]) == (1, 1)
    assert member.get("/api/v1/ticks?state=stale").json()["count"] == 0
    assert member.get("/api/v1/ticks/999999").status_code == 404


@pytest.mark.usefixtures("tick")
def test_shares_loans_and_waits_are_open_to_every_role(member: Client) -> None:
    (share,) = member.get("/api/v1/shares").json()["results"]
    assert (share["team"]["name"], share["guaranteed"], share["allocated"]) == (
        "Vision", 4000, 3000,
    )  # fmt: skip
    assert member.get("/api/v1/loans").json()["count"] == 0
    waits = member.get("/api/v1/waits").json()["results"]
    assert [(row["team"]["name"], row["jobs"]) for row in waits] == [("Vision", 2), ("Speech", 1)]
    assert member.get("/api/v1/waits?from=2020-01-01T00:00:00Z").status_code == 422


def test_the_policy_is_read_changed_and_guarded_against_lost_edits(
    member: Client, admin: Client, pool: Pool
) -> None:
    address = f"/api/v1/clusters/{pool.cluster_id}/policy"
    read = admin.get(address)
    assert (read["ETag"], read.json()["id"], read.json()["rules"]["order"]) == (
        '"0"', 0, "fair_share",
    )  # fmt: skip
    headers = {"If-Match": '"0"', "Idempotency-Key": "one"}
    rules = {"order": "fifo"}
    put = [
        admin.put(address, rules, content_type="application/json", headers=headers)
        for _ in range(2)
    ]
    policy = Policy.objects.get()
    assert [answer.json()["id"] for answer in put] == [policy.pk, policy.pk]
    assert put[0]["ETag"] == f'"{policy.pk}"'
    late = admin.put(address, rules, content_type="application/json", headers={"If-Match": '"0"'})
    assert late.status_code == 412
    bad = admin.put(address, {"order": "by lot"}, content_type="application/json")
    assert (bad.status_code, list(bad.json()["fields"])) == (422, ["order"])
    assert admin.put(address, [1], content_type="application/json").status_code == 422
    assert member.get(address).status_code == 404
    assert member.put(address, rules, content_type="application/json").status_code == 404
    assert admin.get("/api/v1/clusters/999999/policy").status_code == 404
    assert Policy.objects.count() == 1


@pytest.mark.usefixtures("tick")
def test_forecasts_stand_beside_plans_and_are_scored(
    member: Client, pool: Pool, now: datetime
) -> None:
    waits = Workload.objects.get(name="waits")
    hour = timedelta(hours=1)
    Forecast.objects.create(
        workload=waits, made_at=now - hour, first=True, p50=now + hour, p90=now + 2 * hour,
        grace_seconds=60,
    )  # fmt: skip
    row = member.get(f"/api/v1/workloads/{waits.pk}").json()
    assert row["forecast"] == {
        "made_at": "2026-11-01T23:00:00Z",
        "p50": "2026-11-02T01:00:00Z",
        "p90": "2026-11-02T02:00:00Z",
    }
    Forecast.objects.update(p50=now - hour, p90=now - hour / 2)
    (scored,) = member.get(f"/api/v1/forecasts?pool={pool.pk}").json()["results"]
    assert (scored["team"]["name"], scored["pool"]["name"]) == ("Vision", pool.name)
    # It should have started an hour ago, and still waits.
    assert (scored["judged"], scored["started_by_p90"]) == (1, 0)
    assert scored["median_error_seconds"] == 3600
    assert member.get("/api/v1/forecasts?from=2020-01-01T00:00:00Z").status_code == 422
