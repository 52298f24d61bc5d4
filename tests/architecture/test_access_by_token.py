"""Every route × token: made for it, for another room, to read only, ended, or of whom lost a role.

The same table as for people (`access.csv`) says what may open; a scope only takes away. Which room
a route belongs to is read from the room's `urls`, not from where the code looks.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

import portal
from portal.common import clock
from portal.teams import services, tokens
from portal.teams.models import ApiToken, RoleAssignment, User
from tests.doors import ROUTES, knock, table
from tests.world import World, a_holder, a_world

pytestmark = pytest.mark.django_db


def _rooms() -> Iterator[tuple[str, str]]:
    for path in sorted(Path(portal.__file__).parent.glob("*/urls.py")):
        urls: Any = import_module(f"portal.{path.parent.name}.urls")
        for pattern in getattr(urls, "api_patterns", []):
            yield pattern.name, path.parent.name


ROOM_OF = dict(_rooms())
"""The room of each route of the API."""
API = [(route, does) for route, does in table() if ROOM_OF.get(route, "") in tokens.ROOMS]
PAGES = [(route, does) for route, does in table() if route not in ROOM_OF]


def test_every_room_with_an_api_has_scopes_of_its_own() -> None:
    assert len(API) > 80
    assert set(ROOM_OF.values()) - {"operations"} <= set(tokens.ROOMS)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


def _tokens(user: User) -> dict[str, str]:
    """A token for each scope there is, by the scope."""
    return {
        scope: services.create_token(user_id=user.pk, name=scope, scopes=[scope], days=1)
        for scope in tokens.SCOPES
    }


def _ask(token: str, route: str, does: str, world: World) -> tuple[int, str]:
    """Status, and the code of a problem."""
    client = Client(raise_request_exception=False)
    with transaction.atomic():
        answer = knock(client, route, does, world.ids(world.ours), Authorization=f"Bearer {token}")
        transaction.set_rollback(True)
    is_problem = answer.headers.get("Content-Type", "").startswith("application/problem+json")
    return answer.status_code, answer.json()["code"] if is_problem else ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("holder", ["lead", "admin"])
def test_a_token_opens_what_its_scope_and_its_owners_role_open_together(
    world: World, holder: str
) -> None:
    held = _tokens(a_holder(holder, world.ours.team))
    wrong = []
    for route, does in API:
        room, cell = ROOM_OF[route], table()[route, does][holder]
        found = [_outcome(held[f"{room}:{does}"], route, does, world)]
        expected = ["open" if cell else "unknown"]
        if does == "write":
            found.append(_outcome(held[f"{room}:read"], route, does, world))
            expected.append("scope_missing")
        if found != expected:
            wrong.append(f"{does} {route}: {found}, not {expected}")
    assert wrong == []


def _outcome(token: str, route: str, does: str, world: World) -> str:
    status, code = _ask(token, route, does, world)
    return {404: "unknown", 401: "out", 403: code}.get(status, "open")


def test_a_token_of_another_room_opens_nothing_whatever_the_id(world: World) -> None:
    """Refused before anything is looked up, so that it does not tell what exists either."""
    held = _tokens(a_holder("admin", world.ours.team))
    others = sorted(set(tokens.ROOMS) - {"all"})
    for number, (route, does) in enumerate(API):
        room = others[number % len(others)]
        if room != ROOM_OF[route]:
            answer = _ask(held[f"{room}:write"], route, does, world)
            assert answer == (403, "scope_missing"), f"{does} {route} with {room}"


def test_a_token_that_ended_opens_nothing(world: World) -> None:
    owner = a_holder("admin", world.ours.team)
    token = services.create_token(user_id=owner.pk, name="x", scopes=["all:write"], days=1)
    ApiToken.objects.update(expiry=datetime.now(UTC) - timedelta(seconds=1))
    for number, (route, does) in enumerate(API):
        if number == 1:
            # Once seen for what it is, it is gone; a made-up one reads the same.
            token = tokens.PREFIX + "0" * 64
        assert _ask(token, route, does, world) == (401, "not_authenticated"), route


def test_a_token_does_no_more_than_its_owner_does_now(world: World) -> None:
    """It was made by an admin, who is none any more."""
    owner = a_holder("admin", world.ours.team)
    token = services.create_token(user_id=owner.pk, name="x", scopes=["all:write"], days=1)
    RoleAssignment.objects.filter(user=owner).delete()
    for route, does in API:
        assert _ask(token, route, does, world) == (404, "not_found"), f"{does} {route}"


def test_a_token_opens_no_page(world: World) -> None:
    owner = a_holder("admin", world.ours.team)
    token = services.create_token(user_id=owner.pk, name="x", scopes=["all:write"], days=1)
    for route, does in PAGES:
        if does == "read" and ROUTES[route] != ["token"]:
            assert _ask(token, route, does, world)[0] == 302, route
