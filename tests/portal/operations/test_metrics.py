"""The figures are those of the rows, name nobody, and are told to machines that may know."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from portal.common import clock
from portal.common.models import OutboxMessage
from portal.inventory.models import NodeState
from portal.kubernetes.models import Drift, SyncRun, SyncStanding
from portal.operations import metrics, reports
from portal.scheduling.models import Tick
from portal.workloads.models import WorkloadState
from tests import builders
from tests.with_services import free_port
from tests.world import a_world

pytestmark = pytest.mark.django_db
Labels = tuple[tuple[str, str], ...]


def _told(client: Client) -> dict[tuple[str, Labels], float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def _of(told: dict[tuple[str, Labels], float], name: str, /, **labels: str) -> float | None:
    return told.get((name, tuple(sorted(labels.items()))))


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch, now: datetime) -> datetime:
    """Time stands still."""
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return now


def test_a_tick_tells_its_age_its_time_and_whether_it_decided(
    client: Client, at_noon: datetime
) -> None:
    cluster = builders.a_cluster()
    for minutes, state in ((5, "done"), (1, "stale")):
        began = at_noon - timedelta(minutes=minutes)
        Tick.objects.create(
            cluster=cluster, at=began, started_real_at=began, state=state, took_ms=2500
        )
    told = _told(client)
    assert _of(told, "evenshare_tick_age_seconds", cluster="lab") == 60
    assert _of(told, "evenshare_tick_seconds", cluster="lab") == 2.5
    assert _of(told, "evenshare_tick_done", cluster="lab") == 0
    assert _of(told, "evenshare_tick_period_seconds") == 15


def test_a_cluster_is_stale_once_it_was_not_read_for_longer_than_it_may_be(
    client: Client, at_noon: datetime
) -> None:
    cluster = builders.a_cluster()
    assert _of(_told(client), "evenshare_cluster_stale", cluster="lab") == 1
    for age, stale in ((120, 0), (121, 1)):
        cluster.seen_real_at = at_noon - timedelta(seconds=age)
        cluster.save()
        told = _told(client)
        assert _of(told, "evenshare_cluster_stale", cluster="lab") == stale
        assert _of(told, "evenshare_cluster_age_seconds", cluster="lab") == age


def test_what_was_written_and_refused_is_told_for_ten_minutes(
    client: Client, at_noon: datetime
) -> None:
    cluster = builders.a_cluster()
    for minutes, state, writes in ((11, "failed", 7), (9, "partial", 3), (1, "done", 4)):
        SyncRun.objects.create(
            cluster=cluster, at=at_noon - timedelta(minutes=minutes), state=state, writes=writes
        )
    SyncStanding.objects.create(
        cluster=cluster, checked_real_at=at_noon - timedelta(seconds=30), paused_at=at_noon
    )
    Drift.objects.create(
        cluster=cluster, kind="Quota", name="a", field="x", opened_at=at_noon, manager="kubectl"
    )
    told = _told(client)
    assert _of(told, "evenshare_sync_writes", cluster="lab") == 7
    states = {"done": 1, "partial": 1, "failed": 0, "running": 0, "interrupted": 0}
    for state, count in states.items():
        assert _of(told, "evenshare_sync_runs", cluster="lab", state=state) == count
    assert _of(told, "evenshare_sync_age_seconds", cluster="lab") == 30
    assert _of(told, "evenshare_sync_paused", cluster="lab") == 1
    assert _of(told, "evenshare_drift_fields", cluster="lab") == 1


def test_the_queue_and_its_waits_count_those_who_still_wait(
    client: Client, at_noon: datetime
) -> None:
    team, pool = builders.a_team(), builders.a_pool("a100", nodes=2)
    for number, hours in enumerate((0.5, 2, 100)):
        job = builders.a_workload(team, pool, name=f"waits-{number}")
        job.state, job.tasks, job.gpu_milli = WorkloadState.WAITING, 2, 500
        job.submitted_at = at_noon - timedelta(hours=hours)
        job.save()
    runs = builders.a_workload(team, pool, name="runs")
    runs.state, runs.submitted_at = WorkloadState.RUNNING, at_noon - timedelta(minutes=14)
    runs.scheduled_at = at_noon
    runs.save()
    told, cluster = _told(client), pool.cluster.name
    assert _of(told, "evenshare_queue_jobs", cluster=cluster, pool="a100") == 3
    assert _of(told, "evenshare_queue_gpus", cluster=cluster, pool="a100") == 3
    for state, le, count in (
        ("waiting", "900.0", 0), ("waiting", "1800.0", 1), ("waiting", "14400.0", 2),
        ("waiting", "259200.0", 2), ("waiting", "+Inf", 3),
        ("running", "300.0", 0), ("running", "900.0", 1), ("running", "+Inf", 1),
    ):  # fmt: skip
        name = "evenshare_wait_seconds_bucket"
        assert _of(told, name, cluster=cluster, state=state, le=le) == count, (state, le)


def test_devices_are_told_by_pool_and_state_of_their_node(client: Client) -> None:
    pool = builders.a_pool("a100", nodes=2)
    node = pool.nodes.order_by("id")[0]
    node.state = NodeState.DOWN
    node.save()
    told, cluster = _told(client), pool.cluster.name
    for state, gpus in (("ready", 8), ("down", 8), ("cordoned", 0)):
        assert _of(told, "evenshare_gpus", cluster=cluster, pool="a100", state=state) == gpus


def test_the_outbox_tells_what_is_due_what_waits_and_what_was_given_up(
    client: Client, at_noon: datetime
) -> None:
    later = at_noon + timedelta(hours=1)
    for key, due, more in (
        ("a", at_noon, {}), ("b", later, {}), ("c", at_noon, {"given_up_at": at_noon}),
        ("d", at_noon, {"sent_at": at_noon}),
    ):  # fmt: skip
        OutboxMessage.objects.create(
            key=key, channel="mail", address="", body="", created_at=at_noon, due_at=due, **more
        )
    told = _told(client)
    found = {
        state: _of(told, "evenshare_outbox_messages", channel="mail", state=state)
        for state in ("due", "waiting", "given_up")
    }
    assert found == {"due": 1, "waiting": 2, "given_up": 1}


def test_upkeep_tells_how_it_went_and_when(client: Client, at_noon: datetime) -> None:
    reports.note(name=reports.AUDIT, ok=False, now=at_noon - timedelta(hours=2))
    told = _told(client)
    assert _of(told, "evenshare_report_ok", name="audit") == 0
    assert _of(told, "evenshare_report_age_seconds", name="audit") == 7200


def test_answers_are_counted_by_the_name_of_their_route(client: Client) -> None:
    name, labels = "evenshare_http_requests_total", {"method": "GET", "status": "302"}
    before = _of(_told(client), name, route="dashboards:queue", **labels) or 0
    client.get("/queue/?team=secret")
    client.get("/nothing/of/the/sort")
    told = _told(client)
    assert _of(told, name, route="dashboards:queue", **labels) == before + 1
    count = "evenshare_http_seconds_count"
    assert (_of(told, count, route="dashboards:queue") or 0) >= 1
    routes = {dict(labels).get("route", "") for _name, labels in told}
    assert not [route for route in routes if "/" in route]


def test_no_person_team_or_job_is_in_any_label(client: Client, at_noon: datetime) -> None:
    world = a_world(at_noon)
    text = client.get("/metrics").content.decode()
    assert 'cluster="' in text
    assert world.ours.team.slug not in text
    assert world.theirs.team.slug not in text
    without_routes = re.sub(r'route="[^"]*"', "", text)
    assert not re.search(r"secret|minji|asker|person|example\.org", without_routes)
    labels = set(re.findall(r'[{,]([a-z_]+)="', text))
    assert labels <= {
        "cluster", "pool", "state", "le", "channel", "name", "part", "route", "method", "status",
        "queue",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("address", "headers", "behind_proxy", "status"),
    [
        ("127.0.0.1", {}, False, 200),
        ("::1", {}, False, 200),
        ("10.0.0.7", {}, False, 401),
        ("", {}, False, 401),
        ("127.0.0.1", {}, True, 401),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, False, 401),
        ("10.0.0.7", {"Authorization": "Bearer right"}, False, 200),
        ("10.0.0.7", {"Authorization": "Bearer right"}, True, 200),
        ("10.0.0.7", {"Authorization": "Bearer wrong"}, False, 401),
        ("10.0.0.7", {"Authorization": "right"}, False, 401),
    ],
)
def test_figures_are_for_who_brings_the_token_or_asks_from_this_machine(
    client: Client, settings: Settings, address: str, headers: dict[str, str],
    behind_proxy: bool, status: int,
) -> None:  # fmt: skip
    settings.METRICS_TOKEN, settings.BEHIND_PROXY = "right", behind_proxy
    answer = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert answer.status_code == status
    assert (b"evenshare" in answer.content) is (status == 200)


def test_without_a_token_an_empty_one_opens_nothing(client: Client) -> None:
    answer = client.get("/metrics", headers={"Authorization": "Bearer "}, REMOTE_ADDR="10.0.0.7")
    assert answer.status_code == 401


def test_machines_are_answered_under_any_host_over_plain_http_and_may_only_read(
    client: Client, settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    for address in ("/healthz", "/readyz", "/metrics"):
        assert client.get(address, headers={"Host": "10.1.2.3:8000"}).status_code == 200
        assert client.post(address).status_code == 405
    assert client.get("/queue/", headers={"Host": "10.1.2.3:8000"}).status_code in (301, 400)


def test_what_does_not_answer_is_said_and_takes_nothing_else_with_it(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> bytes:
        raise DatabaseError("no route to host")

    monkeypatch.setattr(metrics, "_rows", away)
    settings.BROKER = f"redis://127.0.0.1:{free_port()}/0"
    told = _told(client)
    assert _of(told, "evenshare_part_up", part="database") == 0
    assert _of(told, "evenshare_part_up", part="broker") == 0
    assert _of(told, "evenshare_part_up", part="cache") == 1
    assert any(name == "evenshare_http_requests_total" for name, _labels in told)
    assert client.get("/healthz").status_code == 200


def test_the_disk_of_the_portals_own_files_is_told(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    told = _told(client)
    free, size = _of(told, "evenshare_disk_free_bytes"), _of(told, "evenshare_disk_bytes")
    assert free is not None
    assert size is not None
    assert 0 < free < size
