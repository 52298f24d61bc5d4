"""An edit with the version somebody saw loses when it is no longer the newest: 412, no effect."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from portal.common import clock
from portal.common.models import AuditEvent
from portal.finance.models import Statement, StatementState
from portal.operations import openapi, reference
from portal.requests.models import Request, RequestState
from portal.teams.models import Role, RoleAssignment
from tests.builders import a_user
from tests.world import World, a_world

pytestmark = pytest.mark.django_db
SOURCES = {
    "breach-acknowledge": "/api/v1/breaches",
    "policy-replace": "/api/v1/clusters/{cluster_id}/policy",
    "policy-undo": "/api/v1/clusters/{cluster_id}/policy",
    "statement-paid": "/api/v1/statements/{statement_id}",
    "statement-revise": "/api/v1/statements/{statement_id}",
}
"""Where the version of each is read; what is not here is a request's."""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.fixture
def anybody(world: World, now: datetime) -> Client:
    user = a_user("everybody", role=Role.ADMIN)
    for role in (Role.FINANCE, Role.LEAD, Role.MEMBER):
        RoleAssignment.objects.create(user=user, role=role, created_at=now)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def _edits() -> list[tuple[str, str, str, dict[str, Any] | None]]:
    return [
        (said["operationId"], method, path, reference.body_of(said))
        for path, methods in openapi.document()["paths"].items()
        for method, said in methods.items()
        if any(one["name"] == "If-Match" for one in said.get("parameters", []))
    ]


@pytest.mark.parametrize("edit", _edits(), ids=lambda edit: edit[0])
def test_an_edit_of_an_older_version_is_refused_and_leaves_nothing(
    world: World, anybody: Client, edit: tuple[str, str, str, dict[str, Any] | None]
) -> None:
    operation, method, path, shape = edit
    Statement.objects.update(state=StatementState.FINAL)
    if operation in ("request-replace", "request-submit"):
        Request.objects.update(state=RequestState.DRAFT)
    body = reference.sample(shape) if shape else {}
    told = AuditEvent.objects.count()
    answer = getattr(anybody, method)(
        _address(path, world), body, content_type="application/json",
        headers={"If-Match": '"987654"'},
    )  # fmt: skip
    assert answer.status_code == 412, answer.content
    assert answer.json()["code"] == "changed_meanwhile"
    assert AuditEvent.objects.count() == told


@pytest.mark.parametrize("edit", _edits(), ids=lambda edit: edit[0])
def test_an_edit_of_what_one_read_passes_the_check_and_names_the_next_version(
    world: World, anybody: Client, edit: tuple[str, str, str, dict[str, Any] | None]
) -> None:
    operation, method, path, shape = edit
    Statement.objects.update(state=StatementState.FINAL)
    if operation in ("request-replace", "request-submit"):
        Request.objects.update(state=RequestState.DRAFT)
    source = _address(SOURCES.get(operation, "/api/v1/requests/{request_id}"), world)
    read = anybody.get(source)
    seen = read.get("ETag") or f'"{read.json()["results"][0]["version"]}"'
    answer = getattr(anybody, method)(
        _address(path, world), reference.sample(shape) if shape else {},
        content_type="application/json", headers={"If-Match": seen},
    )  # fmt: skip
    assert answer.status_code != 412
    if answer.status_code == 200:
        assert answer["ETag"] != seen


@pytest.mark.parametrize("header", ["", "3", 'W/"1"', '"', "1, 2"])
def test_what_is_no_version_never_matches(world: World, anybody: Client, header: str) -> None:
    address = f"/api/v1/requests/{world.ours.request.pk}/cancel"
    answer = anybody.post(
        address, {}, content_type="application/json", headers={"If-Match": header}
    )
    assert answer.status_code == 412


def _address(path: str, world: World) -> str:
    for name, value in world.ids(world.ours).items():
        path = path.replace(f"{{{name}}}", str(value))
    return path
