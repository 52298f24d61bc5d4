"""Measured use is read from a Prometheus hour by hour: late data, gaps and faults included."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from portal.common.errors import Invalid
from portal.inventory.models import Pool
from portal.scheduling import classing
from portal.teams.models import Role
from portal.usage import appending, breakdown, measuring, monitoring, services, tasks
from portal.usage.breakdown import Dimension, Filter
from portal.usage.models import MeasuredUse, Monitoring
from portal.workloads.models import Pod, Workload
from tests import builders
from tests.portal.usage.prometheus_server import Answering, answering
from tests.portal.usage.test_rollups import HOUR, NOON, a_row

pytestmark = pytest.mark.django_db
CELL = 300
FULL = 1000 * CELL
"""What one GPU holds in one cell, in milli-GPU-seconds."""


@pytest.fixture
def pool() -> Pool:
    return builders.a_pool(nodes=1)


@pytest.fixture
def prometheus(pool: Pool, settings: Settings) -> Iterator[Answering]:
    """One that watches the pool's cluster."""
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    with answering() as told:
        monitoring.set_monitoring(
            cluster_id=pool.cluster_id, address=told.address, actor_id=None, now=NOON
        )
        yield told


def a_job(pool: Pool, name: str = "train", cells: int = 12, gpu_milli: int = 1000) -> Workload:
    """A job that held a GPU from noon on, for so many cells, and has been summed."""
    team = builders.a_team(f"team-{name}")
    job = builders.a_workload(team, pool, name, gpu_milli=gpu_milli)
    pod = builders.a_pod(job, pool.nodes.first(), name=f"{name}-0", scheduled_at=NOON)
    appending.append(
        a_row(pool, 5 * cell, pod_uid=pod.uid, workload_id=job.pk, team_id=team.pk,
              gpu_milli=gpu_milli)
        for cell in range(cells)
    )  # fmt: skip
    services.roll_up()
    return job


def values(*busy: str | None, hour: int = 0) -> list[tuple[int, str]]:
    """A figure at the end of each cell from noon on; None is a gap."""
    starts = int(NOON.timestamp()) + 3600 * hour
    return [
        (starts + CELL * (cell + 1), text) for cell, text in enumerate(busy) if text is not None
    ]


def labels(job: Workload) -> dict[str, str]:
    return {"exported_namespace": job.namespace, "exported_pod": f"{job.name}-0"}


def measure(pool: Pool, at: timedelta = timedelta(hours=1, minutes=5)) -> int:
    return monitoring.read_due(cluster_id=pool.cluster_id, now=NOON + at)


def measured() -> dict[int, tuple[int, int]]:
    rows = MeasuredUse.objects.values_list(
        "workload_id", "measured_milli_seconds", "used_milli_seconds"
    )
    return {pk: (whole, used) for pk, whole, used in rows}


def test_busy_shares_count_for_what_the_ledger_says_was_held(
    pool: Pool, prometheus: Answering
) -> None:
    whole, half = a_job(pool), a_job(pool, "half", cells=3, gpu_milli=500)
    prometheus.says(
        (labels(whole), values(*["0.5"] * 12)),
        (labels(half), values("1", "0.25", "0", "1", "1")),
        ({"namespace": "gpu-operator", "pod": "dcgm-exporter-1"}, values("1")),
    )
    assert measure(pool) == 2
    assert measured() == {
        whole.pk: (12 * FULL, 6 * FULL),
        half.pk: (3 * FULL // 2, (FULL // 2) * 5 // 4),
    }


def test_a_cell_without_a_sample_is_a_gap_and_not_idle(pool: Pool, prometheus: Answering) -> None:
    job = a_job(pool)
    prometheus.says((labels(job), values("1", None, "NaN", "1")))
    measure(pool)
    services.roll_up()
    assert measured() == {job.pk: (2 * FULL, 2 * FULL)}
    (part,) = breakdown.break_down(Dimension.TEAM, Filter(NOON, NOON + timedelta(hours=1)))
    assert (part.held, part.measured, part.used) == (HOUR, 2 * FULL, 2 * FULL)


def test_a_repeat_adds_nothing_and_late_samples_are_found(
    pool: Pool, prometheus: Answering
) -> None:
    job = a_job(pool)
    prometheus.says((labels(job), values("1")))
    assert (measure(pool), measure(pool)) == (1, 0)
    assert len(prometheus.asked) == 4  # a day, in pieces of six hours, once
    prometheus.says((labels(job), values("1", "1", "1")))
    assert measure(pool, timedelta(hours=2, minutes=5)) == 1
    assert measured() == {job.pk: (3 * FULL, 3 * FULL)}


def test_what_was_measured_is_not_forgotten_when_the_monitoring_forgets(
    pool: Pool, prometheus: Answering
) -> None:
    job = a_job(pool)
    prometheus.says((labels(job), values("1", "1")))
    measure(pool)
    prometheus.says((labels(job), values("1")))
    assert measure(pool, timedelta(hours=2, minutes=5)) == 0
    assert measured() == {job.pk: (2 * FULL, 2 * FULL)}


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        (503, b'{"status": "error", "error": "starting"}', "503: starting"),
        (200, b"<html>", "not as a Prometheus"),
        (200, b'{"status": "success", "data": {"result": [{"metric": 1}]}}', "no series"),
        (302, b"", "302"),
    ],
)
def test_a_fault_is_told_and_no_hour_is_skipped(
    pool: Pool, prometheus: Answering, status: int, answer: bytes, why: str
) -> None:
    job = a_job(pool)
    prometheus.refuses(status, answer)
    assert measure(pool) == 0
    row = Monitoring.objects.get()
    assert why in row.last_error
    assert row.read_until is None
    prometheus.says((labels(job), values("1")))
    assert measure(pool, timedelta(hours=5)) == 1
    again = Monitoring.objects.get()
    assert (again.last_error, again.read_until) == ("", NOON + timedelta(hours=4))


def test_nobody_at_home_is_told_as_well(pool: Pool, settings: Settings) -> None:
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    monitoring.set_monitoring(
        cluster_id=pool.cluster_id, address="http://127.0.0.1:9", actor_id=None, now=NOON
    )
    assert measure(pool) == 0
    assert "refused" in Monitoring.objects.get().last_error


def test_it_is_asked_by_cell_with_the_labels_and_the_token_that_are_set(
    pool: Pool, prometheus: Answering
) -> None:
    monitoring.set_monitoring(
        cluster_id=pool.cluster_id, address=prometheus.address, selector='cluster="seoul-1"',
        token="s3cret", actor_id=None, now=NOON,
    )  # fmt: skip
    prometheus.says()
    tasks.measure_cluster(cluster_id=pool.cluster_id)
    asked, header = prometheus.asked[-1], prometheus.headers[-1]
    assert asked["path"] == ["/api/v1/query_range"]
    assert asked["step"] == ["300"]
    assert 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{cluster="seoul-1"}[300s]' in asked["query"][0]
    assert 'DCGM_FI_DEV_GPU_UTIL{cluster="seoul-1"}[300s]) / 100' in asked["query"][0]
    assert header["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in Monitoring.objects.get().token


def test_a_token_does_not_follow_to_another_address(pool: Pool, prometheus: Answering) -> None:
    for address, kept in ((prometheus.address, True), ("http://127.0.0.1:9091", False)):
        monitoring.set_monitoring(
            cluster_id=pool.cluster_id, address=prometheus.address, token="s3cret",
            actor_id=None, now=NOON,
        )  # fmt: skip
        monitoring.set_monitoring(
            cluster_id=pool.cluster_id, address=address, actor_id=None, now=NOON
        )
        row = monitoring.get_monitoring(cluster_id=pool.cluster_id)
        assert row is not None
        assert row.has_token is kept


@pytest.mark.parametrize(
    ("address", "selector", "field"),
    [
        ("http://10.0.0.7:9090", "", "address"),
        ("http://169.254.169.254/latest", "", "address"),
        ("file:///etc/passwd", "", "address"),
        ("http://prom:secret@127.0.0.1:9090", "", "address"),
        ("http://127.0.0.1:90x", "", "address"),
        ("prometheus", "", "address"),
        ("ftp://127.0.0.1:9090", "", "address"),
        ("http://127.0.0.1:9090", 'cluster="a"}) or vector(1', "selector"),
    ],
)
def test_only_hosts_an_operator_named_are_asked(
    pool: Pool, settings: Settings, address: str, selector: str, field: str
) -> None:
    settings.PROMETHEUS_HOSTS = ["127.0.0.1"]
    with pytest.raises(Invalid) as wrong:
        monitoring.set_monitoring(
            cluster_id=pool.cluster_id, address=address, selector=selector, actor_id=None, now=NOON
        )
    assert set(wrong.value.fields) == {field}
    assert not Monitoring.objects.exists()


def test_a_host_no_longer_allowed_is_not_asked_any_more(
    pool: Pool, prometheus: Answering, settings: Settings
) -> None:
    settings.PROMETHEUS_HOSTS = ["prometheus:9090"]
    assert measure(pool) == 0
    assert prometheus.asked == []
    assert "EVENSHARE_PROMETHEUS_HOSTS" in Monitoring.objects.get().last_error


def test_a_name_used_twice_in_an_hour_is_told_apart_by_time(
    pool: Pool, prometheus: Answering
) -> None:
    first = a_job(pool, cells=2)
    Pod.objects.update(closed_at=NOON + timedelta(minutes=10))
    second = builders.a_workload(first.team, pool, "again")
    pod = builders.a_pod(second, pool.nodes.first(), name="new", scheduled_at=NOON)
    Pod.objects.filter(pk=pod.pk).update(name="train-0")
    Workload.objects.update(namespace="team-train")
    appending.append([a_row(pool, 10, pod_uid=pod.uid, workload_id=second.pk)])
    prometheus.says((labels(Workload.objects.get(pk=first.pk)), values("1", "0.5", "0")))
    measure(pool)
    assert measured() == {first.pk: (2 * FULL, FULL * 3 // 2), second.pk: (FULL, 0)}


def test_a_job_below_the_mark_is_idle_for_its_class(pool: Pool, prometheus: Answering) -> None:
    quiet, busy = a_job(pool), a_job(pool, "busy")
    prometheus.says((labels(quiet), values(*["0.04"] * 12)), (labels(busy), values(*["0.06"] * 12)))
    measure(pool)
    idle = classing._idle([quiet.pk, busy.pk], 1, NOON + timedelta(hours=1, minutes=10))
    assert idle == {quiet.pk}


def test_admins_set_it_and_those_who_oversee_read_it(
    pool: Pool, client: Client, settings: Settings
) -> None:
    settings.PROMETHEUS_HOSTS = ["prometheus.example:9090"]
    a_job(pool)
    address = f"/api/v1/clusters/{pool.cluster_id}/monitoring"
    page = f"/clusters/{pool.cluster_id}/monitoring/"
    client.force_login(builders.a_user("jihye", Role.ADMIN))
    assert client.get(address).json()["address"] is None
    body = {"address": "http://prometheus.example:9090", "token": "s3cret"}
    answer = client.put(address, body, content_type="application/json").json()
    assert answer["has_token"] is True
    assert "s3cret" not in str(answer)
    assert client.post(page, {"address": "http://elsewhere:9090"}).status_code == 422
    assert client.post(page, {"address": body["address"], "selector": 'a="b"'}).status_code == 302
    row = monitoring.get_monitoring(cluster_id=pool.cluster_id)
    assert row is not None
    assert (row.selector, row.has_token) == ('a="b"', True)
    client.force_login(builders.a_user("wonho", Role.AUDITOR))
    shown = client.get(page)
    assert "prometheus.example" in shown.content.decode()
    assert b"Keep it" not in shown.content
    assert client.put(address, body, content_type="application/json").status_code == 404


def test_the_hours_of_the_last_day_show_what_is_missing(client: Client, pool: Pool) -> None:
    job = a_job(pool)
    services.note_measured(
        measurements=[services.Measurement(job.pk, NOON, HOUR // 4, HOUR // 8)], source="prometheus",
        now=NOON,
    )  # fmt: skip
    services.roll_up()
    (hour,) = measuring.hours_measured(pool.cluster_id, NOON, NOON + timedelta(hours=1))
    assert (hour.held, hour.measured, hour.gap, hour.used) == (
        HOUR, HOUR // 4, HOUR * 3 // 4, HOUR // 8,
    )  # fmt: skip


def test_a_first_reading_goes_back_a_day_and_no_reading_goes_back_further_than_is_kept(
    pool: Pool, prometheus: Answering
) -> None:
    prometheus.says()
    measure(pool)
    assert _first(prometheus) == NOON - timedelta(hours=23) + timedelta(minutes=5)
    prometheus.asked.clear()
    measure(pool, timedelta(days=60))
    assert _first(prometheus) == NOON + timedelta(days=46, minutes=5)


def _first(prometheus: Answering) -> datetime:
    return datetime.fromtimestamp(min(int(one["start"][0]) for one in prometheus.asked), UTC)


def test_a_simulated_cluster_measures_itself_the_same_each_time(pool: Pool) -> None:
    job = a_job(pool)
    assert monitoring.due() == [pool.cluster_id]
    assert measure(pool) == 1
    (first,) = MeasuredUse.objects.filter(workload_id=job.pk)
    assert first.source == "simulated"
    assert HOUR // 2 < first.measured_milli_seconds <= HOUR
    again = monitoring.read_hours(
        cluster_id=pool.cluster_id, from_at=NOON, to_at=NOON + timedelta(hours=1), now=NOON
    )
    assert again == 0
