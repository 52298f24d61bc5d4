"""The doctor names what is wrong and what to do; health answers without signing in."""

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.test import Client

from portal.common import clock
from portal.operations import checks
from portal.operations.checks import Level
from portal.teams.models import Role
from tests.builders import a_cluster, a_user

pytestmark = pytest.mark.django_db


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
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_user("yuna", role=Role.ADMIN)
    a_user("jiho", role=Role.ADMIN)
    cluster = a_cluster()
    cluster.seen_real_at = clock.real_now()
    cluster.save()
    call_command("doctor")
    assert "BAD" not in capsys.readouterr().out


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_answers_to_everybody(client: Client, address: str) -> None:
    assert client.get(address).status_code == 200


def test_not_ready_while_tables_are_behind(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = [checks.Finding("database", Level.BAD, "tables are behind: quotas")]
    monkeypatch.setattr(checks, "READY", (lambda _now: iter(behind),))
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"ready": False}
