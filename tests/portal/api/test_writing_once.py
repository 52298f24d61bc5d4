"""Every write takes an Idempotency-Key: the same body twice is one effect and one answer."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from portal.common import clock
from portal.common.models import AuditEvent
from portal.finance.models import Statement, StatementState
from portal.operations import openapi, reference
from portal.requests.models import Request, RequestState
from portal.reservations.models import Reservation, ReservationState
from portal.teams.models import Role, RoleAssignment
from tests.builders import a_user
from tests.world import World, a_world

pytestmark = pytest.mark.django_db
Body = dict[str, Any]
REFUSED = {
    "cluster-undo": "nothing was written to the cluster yet",
    "drift-take-over": "there is no cluster behind the rows",
    "hook-create": "its address would have to be looked up",
    "monitoring-replace": "no host is allowed",
    "month-close": "the month is not over",
    "policy-undo": "there was no other policy before",
    "quota-undo": "there were no other figures before",
    "session-end": "nobody signed in by a browser",
    "statement-revise": "the statement is open",
    "study-create": "there are no jobs to study",
    "token-revoke": "there is no token",
    "trace-create": "it takes a file, not JSON",
}
"""What this small world has no occasion for; such a refusal is told again, and nothing is done."""
GONE = {"study-drop": "whose it was is no longer known, so it is not found by anybody"}
"""Whose repeat is a 404 instead of the first answer."""


def _writes() -> list[tuple[str, str, str]]:
    return [
        (said["operationId"], method, path)
        for path, methods in openapi.document()["paths"].items()
        for method, said in methods.items()
        if any(one["name"] == "Idempotency-Key" for one in said.get("parameters", []))
    ]


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


def _bodies(world: World, now: datetime) -> dict[str, Body]:
    """Bodies that do something, where the least one does not."""
    later, much_later = now + timedelta(days=20), now + timedelta(days=21)
    team, pool = world.ours.team.pk, world.pool.pk
    asked = {
        "kind": "reservation", "team": team, "pool": pool, "gpus": 1, "zone": "Asia/Seoul",
        "starts_at": later.isoformat(), "ends_at": much_later.isoformat(), "reason": "why",
    }  # fmt: skip
    return {
        "budget-create": {"team": team, "period": "year", "amount_micro": 10**9},
        "cluster-mode": {"was": "quota", "mode": "observe"},
        "invitation-create": {"email": "new@example.org", "role": "member", "team": team},
        "maintenance-plan": {
            "node": world.node.pk, "starts_at": later.isoformat(),
            "ends_at": much_later.isoformat(),
        },
        "notification-read": {},
        "policy-replace": {"order": "fair_share"},
        "presentation-set": {"shows_money": False},
        "quota-create": {"pool": pool, "changes": [{"team": team, "guaranteed": 1}]},
        "rate-card-create": {
            "name": "next", "currency": "KRW", "valid_from": later.isoformat(),
            "rates": [{"pool": pool, "gpu_hour_micro": 10**6}],
        },
        "role-grant": {"username": world.theirs.assignment.user.username, "role": "lead"},
        "request-create": asked,
        "request-replace": asked,
        "sla-create": {"team": team, "pool": pool, "tier": world.ours.breach.sla.tier_id},
        "usage-measured-create": {"named": "dcgm", "measurements": []},
    }  # fmt: skip


def _prepare(operation: str, world: World, now: datetime) -> None:
    """Put things where the move begins."""
    if operation in ("request-replace", "request-submit"):
        Request.objects.filter(pk=world.ours.request.pk).update(state=RequestState.DRAFT)
    if operation == "reservation-give-back":
        Reservation.objects.filter(pk=world.ours.reservation.pk).update(
            state=ReservationState.ACTIVE, starts_at=now - timedelta(hours=1)
        )
    if operation == "statement-paid":
        Statement.objects.filter(pk=world.ours.statement.pk).update(state=StatementState.FINAL)


def _address(path: str, world: World) -> str:
    for name, value in world.ids(world.ours).items():
        path = path.replace(f"{{{name}}}", str(value))
    return path


def _schema(operation: str) -> Body:
    for methods in openapi.document()["paths"].values():
        for said in methods.values():
            if said["operationId"] == operation:
                return reference.body_of(said) or {}
    raise AssertionError(operation)


def _send(client: Client, method: str, address: str, body: Body, key: str) -> tuple[int, bytes]:
    answer = getattr(client, method)(
        address, body, content_type="application/json", headers={"Idempotency-Key": key}
    )
    return answer.status_code, answer.content


@pytest.mark.parametrize("said", _writes(), ids=lambda said: said[0])
def test_the_same_key_twice_is_one_effect_and_one_answer(
    world: World, anybody: Client, now: datetime, said: tuple[str, str, str]
) -> None:
    operation, method, path = said
    _prepare(operation, world, now)
    shape = _schema(operation)
    body = _bodies(world, now).get(operation, reference.sample(shape) if shape else {})
    address = _address(path, world)
    first = _send(anybody, method, address, body, "a-key")
    assert (first[0] < 300) == (operation not in REFUSED), first
    told = AuditEvent.objects.count()
    again = _send(anybody, method, address, body, "a-key")
    assert _kept(again) == _kept(first) or (operation in GONE and again[0] == 404)
    assert AuditEvent.objects.count() == told
    other = _send(anybody, method, address, {**body, "another": 1}, "a-key")
    if operation not in REFUSED and operation not in GONE:
        assert other[0] == 422


def _kept(answer: tuple[int, bytes]) -> tuple[int, object]:
    """An answer without what it shows this once."""
    found = json.loads(answer[1])
    return answer[0], {k: v for k, v in found.items() if k not in ("link", "secret", "address")}


def test_the_exceptions_are_operations_still() -> None:
    assert set(REFUSED) <= {operation for operation, _method, _path in _writes()}
