"""Two programs at one address of the API: an edit is never lost, and a repeat is never a second."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from portal.common import audit, clock
from portal.common.models import AuditEvent, IdempotencyKey
from portal.finance.models import Statement, StatementState
from portal.requests.models import Request
from portal.scheduling import services as scheduling
from portal.scheduling.models import Policy
from portal.teams.models import Role, User
from tests import builders
from tests.portal.requests.world import World, a_draft, a_world
from tests.races.crowd import Crowd, Ending
from tests.races.sound import assert_sound
from tests.world import a_world as a_whole_world

LIST = "/api/v1/requests"


@pytest.fixture
def now() -> datetime:
    """Doors read the clock themselves."""
    return clock.real_now().replace(second=0, microsecond=0)


@pytest.fixture
def world(crowd: Crowd, now: datetime) -> World:
    """Sixteen GPUs, eight of them guaranteed; the rest anybody may reserve."""
    return a_world(now)


def _sending(
    user: User, method: str, address: str, body: dict[str, Any], **headers: str
) -> Callable[[], Any]:
    """What a program of this person's does; it has signed in before."""
    client = Client()
    client.force_login(user)
    return lambda: getattr(client, method)(
        address, body, content_type="application/json", headers=headers
    )


def _codes(endings: list[Ending]) -> list[int]:
    return sorted(ending.value.status_code for ending in endings)


def _asking(world: World, now: datetime, gpus: int) -> dict[str, Any]:
    begins = now + timedelta(days=1)
    return {
        "kind": "reservation", "team": world.vision.pk, "pool": world.pool.pk, "gpus": gpus,
        "starts_at": begins.isoformat(), "ends_at": (begins + timedelta(hours=4)).isoformat(),
        "zone": "Asia/Seoul", "reason": f"Retrain with {gpus}",
    }  # fmt: skip


def test_of_two_edits_with_one_if_match_one_wins(world: World, crowd: Crowd, now: datetime) -> None:
    row = a_draft(world, now)
    sent = {
        gpus: _sending(
            world.lead, "put", f"{LIST}/{row.pk}", _asking(world, now, gpus), **{"If-Match": '"1"'}
        )
        for gpus in (2, 3)
    }
    endings = crowd.at_once(*sent.values())
    assert _codes(endings) == [200, 412]
    row.refresh_from_db()
    won = next(ending.value for ending in endings if ending.value.status_code == 200)
    assert (row.gpus, row.version) == (won.json()["gpus"], 2)
    assert AuditEvent.objects.filter(action="requests.drafted", target_id=row.pk).count() == 2
    assert_sound(now)


def test_of_two_policies_set_on_what_both_saw_one_wins(
    world: World, crowd: Crowd, now: datetime
) -> None:
    cluster_id = world.pool.cluster_id
    scheduling.set_policy(
        cluster_id=cluster_id, rules={"order": "fifo"}, actor_id=world.admin.pk, now=now
    )
    seen = Policy.objects.get()
    address = f"/api/v1/clusters/{cluster_id}/policy"
    endings = crowd.at_once(
        *(
            _sending(world.admin, "put", address, {"order": order}, **{"If-Match": f'"{seen.pk}"'})
            for order in ("fair_share", "drf")
        )
    )
    assert _codes(endings) == [200, 412]
    assert Policy.objects.count() == 2
    assert_sound(now)


def test_of_two_payments_noted_on_one_version_each_is_the_same_payment(
    crowd: Crowd, now: datetime
) -> None:
    whole = a_whole_world(now)
    Statement.objects.update(state=StatementState.FINAL)
    finance = builders.a_user("boram", role=Role.FINANCE)
    row = whole.ours.statement
    row.refresh_from_db()
    address = f"/api/v1/statements/{row.pk}/paid"
    headers = {"If-Match": f'"{row.version}"'}
    endings = crowd.at_once(*(_sending(finance, "post", address, {}, **headers) for _ in range(2)))
    assert set(_codes(endings)) <= {200, 412}
    assert 200 in _codes(endings)
    assert AuditEvent.objects.filter(action="finance.statement_paid").count() == 1


def test_a_write_sent_twice_at_once_under_one_key_is_done_once(
    world: World, crowd: Crowd, now: datetime
) -> None:
    body, key = _asking(world, now, 2), {"Idempotency-Key": "night-run-7"}
    endings = crowd.at_once(*(_sending(world.lead, "post", LIST, body, **key) for _ in range(3)))
    assert set(_codes(endings)) <= {201, 409}
    made = {e.value.json()["id"] for e in endings if e.value.status_code == 201}
    assert made == {Request.objects.get().pk}
    again = _sending(world.lead, "post", LIST, body, **key)()
    assert (again.status_code, again.json()["id"]) == (201, made.pop())
    assert Request.objects.count() == 1
    assert audit.first_broken() is None


def test_a_refused_write_sent_twice_at_once_leaves_its_key_free(
    world: World, crowd: Crowd, now: datetime
) -> None:
    body, key = {**_asking(world, now, 2), "gpus": -1}, {"Idempotency-Key": "night-run-8"}
    endings = crowd.at_once(*(_sending(world.lead, "post", LIST, body, **key) for _ in range(3)))
    assert set(_codes(endings)) <= {409, 422}
    assert 422 in _codes(endings)
    assert not IdempotencyKey.objects.exists()
    assert not Request.objects.exists()
