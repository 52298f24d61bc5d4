"""The doctor names what is wrong and what to do; health answers without signing in."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings
from redis import Redis

from portal.common import clock
from portal.kubernetes import services as kubernetes
from portal.kubernetes.port import Right
from portal.operations import checks, heartbeats
from portal.operations.checks import Level
from portal.teams.models import Role
from tests.builders import a_cluster, a_user
from tests.portal.kubernetes.world import a_registered
from tests.with_services import free_port

pytestmark = pytest.mark.django_db
REDIS = "django.core.cache.backends.redis.RedisCache"


def _says(check: checks.Check, now: datetime) -> list[tuple[Level, str]]:
    return [(finding.level, finding.says) for finding in check(now)]


def test_one_admin_alone_is_a_warning_and_two_are_fine(now: datetime) -> None:
    assert _says(checks.people, now)[0][0] is Level.BAD
    a_user("yuna", role=Role.ADMIN)
    assert _says(checks.people, now)[0][0] is Level.WARN
    a_user("jiho", role=Role.ADMIN)
    assert _says(checks.people, now) == [(Level.GOOD, "2 admins")]


def test_a_cluster_nobody_reads_is_bad_and_says_how_old_its_state_is(now: datetime) -> None:
    cluster = a_cluster()
    assert _says(checks.clusters, now) == [(Level.BAD, "was never read: no reason known")]
    cluster.seen_real_at = now - timedelta(seconds=500)
    cluster.last_error = "connection refused"
    cluster.save()
    assert _says(checks.clusters, now) == [(Level.BAD, "last read 500 s ago; connection refused")]
    cluster.seen_real_at = now - timedelta(seconds=10)
    cluster.save()
    assert _says(checks.clusters, now) == [(Level.GOOD, "read 10 s ago, mode quota")]


def test_the_doctor_fails_when_something_is_bad(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("doctor")
    assert "BAD  people: nobody is admin of the organisation" in capsys.readouterr().out


def test_the_doctor_is_content_with_a_sound_installation(
    capsys: pytest.CaptureFixture[str], settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    a_user("yuna", role=Role.ADMIN)
    a_user("jiho", role=Role.ADMIN)
    cluster, _port = a_registered(tmp_path)
    kubernetes.collect(cluster_id=cluster.pk, now=clock.now())
    call_command("doctor")
    said = capsys.readouterr().out
    assert "BAD" not in said
    assert "ok   reach lab: 24 devices, 0 pods with devices" in said


def test_a_cluster_that_cannot_be_read_from_here_is_bad(
    settings: Settings, tmp_path: Path, now: datetime
) -> None:
    settings.VAR_DIR = tmp_path
    a_cluster()
    ((level, says),) = _says(checks.reach, now)
    assert level is Level.BAD
    assert "no simulated cluster" in says


def test_rights_that_a_cluster_does_not_give_are_named_with_what_to_apply(
    settings: Settings, tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path
    _cluster, port = a_registered(tmp_path)
    assert _says(checks.rights, now) == [(Level.GOOD, "may do all that the mode quota needs")]

    def denied(_port: object, rights: Iterable[Right]) -> list[Right]:
        return [right for right in rights if right.verb == "patch"]

    monkeypatch.setattr(type(port), "denied", denied)
    (finding,) = checks.rights(now)
    assert finding.level is Level.BAD
    assert finding.says == (
        "may not patch resourcequotas, patch priorityclasses.scheduling.k8s.io, patch namespaces, "
        "patch nodes"
    )
    assert finding.do == "Apply its role: kubectl apply -k deploy/kubernetes/quota"


def test_without_a_broker_or_mail_nothing_is_said_of_them(now: datetime) -> None:
    for check in (checks.broker, checks.workers, checks.mail):
        assert _says(check, now) == []


def test_a_broker_that_does_not_answer_is_bad_and_the_portal_not_ready(
    client: Client, settings: Settings, now: datetime
) -> None:
    settings.BROKER = f"redis://127.0.0.1:{free_port()}/0"
    assert _says(checks.broker, now)[0][0] is Level.BAD
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_a_cache_that_does_not_answer_is_bad_and_the_portal_not_ready(
    client: Client, settings: Settings, now: datetime
) -> None:
    assert _says(checks.shared_cache, now) == []
    settings.CACHE = f"redis://127.0.0.1:{free_port()}/1"
    settings.CACHES = {"default": {"BACKEND": REDIS, "LOCATION": settings.CACHE}}
    assert _says(checks.shared_cache, now)[0][0] is Level.BAD
    assert client.get("/readyz").status_code == 503
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert _says(checks.shared_cache, now) == [(Level.GOOD, "answers")]


@pytest.mark.services
def test_a_cache_in_the_brokers_own_database_is_a_warning(
    settings: Settings, broker: str, now: datetime
) -> None:
    settings.BROKER = settings.CACHE = broker
    settings.CACHES = {"default": {"BACKEND": REDIS, "LOCATION": broker}}
    ((level, says),) = _says(checks.shared_cache, now)
    assert level is Level.WARN
    assert "shares its database with the broker" in says


@pytest.mark.services
def test_queues_are_judged_by_when_a_worker_last_answered_beat(
    settings: Settings, broker: str, now: datetime
) -> None:
    settings.BROKER = broker
    # What other tests asked for may still wait there.
    Redis.from_url(broker).flushdb()
    assert _says(checks.broker, now) == [(Level.GOOD, "answers")]
    assert _says(checks.workers, now) == [(Level.BAD, "was never served")] * 3
    heartbeats.note(queue="clusters", now=now - timedelta(seconds=20))
    heartbeats.note(queue="chores", now=now - timedelta(seconds=500))
    assert _says(checks.workers, now) == [
        (Level.GOOD, "served 20 s ago, 0 messages wait"),
        (Level.BAD, "was last served 500 s ago"),
        (Level.BAD, "was never served"),
    ]


def test_a_mail_server_that_does_not_answer_is_bad(settings: Settings, now: datetime) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    ((level, says),) = _says(checks.mail, now)
    assert level is Level.BAD
    assert "refused" in says


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_answers_to_everybody(client: Client, address: str) -> None:
    assert client.get(address).status_code == 200


def test_not_ready_while_tables_are_behind(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = [checks.Finding("database", Level.BAD, "tables are behind: quotas")]
    monkeypatch.setattr(checks, "READY", (lambda _now: iter(behind),))
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"ready": False}
