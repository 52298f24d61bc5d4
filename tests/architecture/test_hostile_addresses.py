"""Whatever is written into an address or a form, the answer is never that we failed.

Every route is asked with numbers beyond any column, times beyond any calendar, text that is no
text; none may answer 500, and none may fail while its answer is streamed.
"""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse

from portal.common import clock
from portal.teams.models import Role, RoleAssignment
from tests.builders import a_user
from tests.doors import ROUTES
from tests.world import World, a_world

pytestmark = pytest.mark.django_db
EARLIEST, LATEST = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"
BEYOND = "9" * 19
QUERIES = (
    ("page", ("0", "abc", BEYOND)),
    ("page_size", ("-1", BEYOND)),
    ("per_page", ("0", "-1", BEYOND)),
    ("sort", ("nonsense", "-", "id,,-id")),
    ("format", ("csv", "nonsense")),
    ("team", ("abc", "0", BEYOND, "²")),
    ("pool", ("-1", BEYOND, "a\x00b")),
    ("cluster", (BEYOND,)),
    ("state", ("nonsense", "waiting,nonsense", "\x00")),
    ("kind", ("nonsense", "\x00")),
    ("tab", ("nonsense",)),
    ("from", (EARLIEST, LATEST, "yesterday")),
    ("to", (EARLIEST, LATEST)),
    ("at", (EARLIEST, LATEST, "2026-13-45")),
    ("month", ("0001-01", "9999-12", "2026-13", "\x00")),
    ("day", ("0001-01-01", "9999-12-31", "2026-02-30")),
    ("search", ("\x00", "%", "x" * 5000)),
    ("gpus", (BEYOND, "-1", "1e9")),
    ("starts_at", (EARLIEST, LATEST, "0001-01-01T00:00", "9999-12-31T23:59")),
    ("ends_at", (EARLIEST, LATEST)),
    ("zone", ("../../etc/passwd", "Mars/Olympus", "\x00")),
)  # fmt: skip
ALONE = [{key: value} for key, values in QUERIES for value in values]
"""The API stops at the first fault, so each is asked for by itself."""
TOGETHER = [
    *({key: values[turn % len(values)] for key, values in QUERIES} for turn in range(4)),
    *({key: value for key, values in QUERIES if key != "pool" for value in values[turn : turn + 1]}
      for turn in range(4)),
    {"format": "csv"},
]  # fmt: skip
"""Pages pass over what they cannot read, so all faults stand in one address."""
ARGUMENTS: tuple[object, ...] = (0, 2**63 - 1, 2**63, 10**30, "0001-01", "9999-12", "2026-99")
BODIES = ("", "null", "[]", "3", '"x"', "{", "\x00", '{"a": 1e999}', '{"note": "\\u0000"}')


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.fixture
def anybody(world: World, now: datetime) -> Client:
    """Somebody who holds every role, so that every door opens."""
    user = a_user("everybody", role=Role.ADMIN)
    for role in (Role.FINANCE, Role.AUDITOR, Role.LEAD, Role.MEMBER):
        RoleAssignment.objects.create(user=user, role=role, created_at=now)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def routes(world: World) -> Iterator[tuple[str, dict[str, object]]]:
    """Our own routes with the arguments of our side."""
    ids = world.ids(world.ours)
    for name, arguments in ROUTES.items():
        if set(arguments) <= set(ids) and not name.startswith("account"):
            yield name, {argument: ids[argument] for argument in arguments}


def fails(response: HttpResponseBase) -> bool:
    """Whether this is our fault; a stream is read to its end."""
    if isinstance(response, StreamingHttpResponse):
        b"".join(response.streaming_content)  # type: ignore[arg-type]  # never asynchronous here
    return response.status_code >= 500


def test_no_query_makes_a_page_fail(world: World, anybody: Client) -> None:
    failed = [
        (name, query)
        for name, arguments in routes(world)
        if anybody.get(reverse(name, kwargs=arguments)).status_code not in (404, 405)
        for query in (ALONE if name.startswith("api") else TOGETHER)
        if fails(anybody.get(reverse(name, kwargs=arguments), query))
    ]
    assert failed == []


def test_no_id_makes_a_page_fail(world: World, anybody: Client) -> None:
    failed = []
    for name, arguments in routes(world):
        for argument in arguments:
            for value in ARGUMENTS:
                try:
                    address = reverse(name, kwargs={**arguments, argument: value})
                except NoReverseMatch:
                    continue
                if fails(anybody.get(address)) or fails(anybody.post(address)):
                    failed.append((name, argument, value))
    assert failed == []


@pytest.mark.parametrize("method", ["post", "put"])
def test_no_body_makes_the_api_fail(world: World, anybody: Client, method: str) -> None:
    failed = [
        (name, body)
        for name, arguments in routes(world)
        if name.startswith("api")
        for body in BODIES
        if fails(
            getattr(anybody, method)(
                reverse(name, kwargs=arguments), body, content_type="application/json"
            )
        )
    ]
    assert failed == []


@pytest.mark.parametrize("moment", [EARLIEST, LATEST, "0001-01-01T00:00", "9999-12-31T23:59"])
@pytest.mark.parametrize("zone", ["Asia/Seoul", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_no_time_makes_a_form_fail(world: World, anybody: Client, moment: str, zone: str) -> None:
    asked: dict[str, object] = {
        "kind": "reservation", "team": world.ours.team.pk, "pool": world.pool.pk, "zone": zone,
        "reason": "r", "gpus": 2, "source": "pool", "starts_at": moment, "ends_at": moment,
        "guaranteed": 2, "valid_from": moment[:16], "name": "n", "currency": "KRW",
        "tax_percent": 10, "idle_rule": "own_line",
    }  # fmt: skip
    pages = ("requests:reserve", "requests:quota", "finance:set-rates")
    assert not [name for name in pages if fails(anybody.post(reverse(name), asked))]
    sent = anybody.post("/api/v1/requests", asked, content_type="application/json")
    assert sent.status_code == 422


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, [1], {"a": 1}, "", "x" * 5000, 10**30])
def test_no_value_in_a_body_makes_the_api_fail(
    world: World, anybody: Client, value: object
) -> None:
    asked: dict[str, object] = {
        "kind": "reservation", "team": world.ours.team.pk, "pool": world.pool.pk,
        "zone": "Asia/Seoul", "reason": "r", "gpus": 2, "starts_at": "2026-11-03T09:00",
        "ends_at": "2026-11-03T12:00",
    }  # fmt: skip
    doors = ("/api/v1/requests", "/api/v1/requests/check")
    failed = [
        (door, key)
        for door in doors
        for key in [*asked, "gpus_per_node", "source", "guaranteed", "limit", "id", "state"]
        if fails(anybody.post(door, {**asked, key: value}, content_type="application/json"))
    ]
    assert failed == []
