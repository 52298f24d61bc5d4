"""The audit page and the command that follows the chain."""

from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from portal.common import audit, clock
from portal.common.models import AuditEvent
from portal.teams.models import Role
from tests.builders import a_team, a_user, behind_the_guard

pytestmark = pytest.mark.django_db


def _line(action: str, **more: object) -> AuditEvent:
    values: dict[str, object] = {
        "actor_id": None, "target_type": "request", "target_id": 7, "team_id": None, **more,
    }  # fmt: skip
    return audit.record(action=action, **values)  # type: ignore[arg-type]


def _shown(client: Client, query: str = "") -> list[str]:
    answer = client.get(f"/audit/{query}")
    assert answer.status_code == 200
    return [row.record.action for row in answer.context["table"].page.object_list]


def test_an_auditor_reads_every_line_newest_first(client: Client) -> None:
    _line("requests.submitted")
    _line("requests.approved")
    client.force_login(a_user("wonho", role=Role.AUDITOR))
    assert _shown(client)[-2:] == ["requests.approved", "requests.submitted"]


def test_the_admin_of_a_branch_reads_only_its_lines(client: Client) -> None:
    ours, theirs = a_team("vision"), a_team("search")
    _line("requests.submitted", team_id=ours.pk)
    _line("requests.approved", team_id=theirs.pk)
    _line("teams.organisation_changed")
    client.force_login(a_user("jihye", role=Role.ADMIN, team=ours))
    assert _shown(client) == ["requests.submitted"]
    assert _shown(client, f"?team={theirs.pk}") == ["requests.submitted"], "not among the choices"


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("?q=approved", ["requests.approved"]),
        ("?room=quotas", ["quotas.changed"]),
        ("?person=minji", ["requests.approved"]),
        ("?thing=request:8", ["requests.approved"]),
        ("?thing=request:x", ["requests.approved", "quotas.changed", "requests.submitted"]),
    ],
)
def test_filters_narrow(client: Client, query: str, left: list[str]) -> None:
    auditor = a_user("wonho", role=Role.AUDITOR)
    client.force_login(auditor)
    AuditEvent.objects.filter(action="teams.signed_in").count()
    _line("requests.submitted")
    _line("quotas.changed")
    _line("requests.approved", actor_id=a_user("minji").pk, target_id=8)
    assert [one for one in _shown(client, query) if not one.startswith("teams.")] == left


def test_a_day_is_the_reader_s_day(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """15:30 UTC on the 9th is half past midnight on the 10th in Seoul."""
    client.force_login(a_user("wonho", role=Role.AUDITOR))
    instant = datetime(2026, 11, 9, 15, 30, tzinfo=UTC)
    monkeypatch.setattr(clock, "real_now", lambda: instant)
    _line("requests.submitted")
    assert _shown(client, "?since=2026-11-10&until=2026-11-10") == ["requests.submitted"]
    assert _shown(client, "?since=2026-11-09&until=2026-11-09") == []


def test_more_rows_cost_no_more_queries(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(a_user("wonho", role=Role.AUDITOR))
    for number in range(60):
        _line("requests.submitted", actor_id=a_user(f"person-{number}").pk)
    with django_assert_max_num_queries(12):
        client.get("/audit/")


def test_the_export_holds_every_line_and_its_hash(client: Client) -> None:
    line = _line("requests.submitted", data={"gpus": 8})
    client.force_login(a_user("wonho", role=Role.AUDITOR))
    answer = client.get("/audit/?format=csv&q=submitted")
    text = b"".join(answer).decode()
    assert line.hash in text
    assert "requests.submitted" in text


def test_the_command_says_that_the_chain_is_whole() -> None:
    _line("requests.submitted")
    out = StringIO()
    call_command("verify_audit", stdout=out)
    assert "1" in out.getvalue()


def test_the_command_names_the_line_that_was_changed() -> None:
    lines = [_line("requests.submitted") for _ in range(3)]
    behind_the_guard(f"UPDATE common_auditevent SET target_id = 9 WHERE id = {lines[1].pk}")
    with pytest.raises(CommandError, match=str(lines[1].pk)):
        call_command("verify_audit")
