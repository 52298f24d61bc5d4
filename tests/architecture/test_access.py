"""Every route × role × own or other team, against a table written by hand.

`access.csv` says who may read and write at each route: `all`, `own` (things of one's own team
only) or nothing. A route that is missing there, or has no rule in the code, fails.
"""

import csv
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from portal.common import clock
from portal.teams.middleware import rule_for
from portal.teams.models import User
from portal.teams.permissions import Reach
from tests.builders import a_user
from tests.world import HOLDERS, Side, World, a_holder, a_world

TABLE = Path(__file__).with_name("access.csv")
CLOSED_OR_PUBLIC = {Reach.CLOSED, Reach.PUBLIC}


def _routes() -> Iterator[tuple[str, list[str]]]:
    """Name and argument names of every route but the admin's own and the static files'."""

    def walk(
        resolver: URLResolver, space: str, names: list[str]
    ) -> Iterator[tuple[str, list[str]]]:
        for entry in resolver.url_patterns:
            named = getattr(entry.pattern.regex, "groupindex", {})
            taken = [*names, *(entry.pattern.converters or named)]
            if isinstance(entry, URLResolver):
                inner = f"{space}{entry.namespace}:" if entry.namespace else space
                if not inner.startswith("admin:"):
                    yield from walk(entry, inner, taken)
            elif isinstance(entry, URLPattern):
                yield f"{space}{entry.name}", taken

    yield from walk(get_resolver(), "", [])


ROUTES = dict(_routes())


def _table() -> dict[tuple[str, str], dict[str, str]]:
    with TABLE.open() as file:
        return {(row["route"], row["does"]): row for row in csv.DictReader(file)}


def test_every_route_has_a_name_a_rule_and_a_line_in_the_table() -> None:
    listed = {route for route, _ in _table()}
    for name in ROUTES:
        assert not name.endswith("None"), "a route without a name"
        rule = rule_for(name)
        assert rule is not None, f"{name} has no rule: declare one in its room's permissions"
        if rule.reach not in CLOSED_OR_PUBLIC and rule.reach is not Reach.SIGNED_IN:
            assert name in listed, f"{name} has no line in {TABLE.name}"
    assert listed <= set(ROUTES), "the table names routes that are gone"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.mark.django_db
@pytest.mark.parametrize("holder", [*HOLDERS, "no role"])
def test_the_doors_open_as_the_table_says(world: World, holder: str, now: datetime) -> None:
    client = Client(raise_request_exception=False)
    if holder == "no role":
        client.force_login(_nobody())
    else:
        client.force_login(a_holder(holder, world.ours.team))
    wrong = [
        f"{does} {route} of {whose} team: {'open' if opened else 'shut'} for {holder}"
        for (route, does), row in _table().items()
        for whose, side in (("our", world.ours), ("their", world.theirs))
        if (opened := _opens(client, route, does, world, side))
        != _should(row.get(holder, ""), whose)
    ]
    assert wrong == []


@pytest.mark.django_db
def test_who_is_not_signed_in_gets_nowhere(world: World, client: Client) -> None:
    for route, does in _table():
        status = _ask(client, route, does, world, world.ours)
        assert status in (302, 401), f"{does} {route}: {status}"


@pytest.mark.django_db
def test_forbidden_and_unknown_read_alike(world: World, client: Client) -> None:
    client.force_login(a_holder("member", world.ours.team))
    for (route, does), row in _table().items():
        single = [a for a in ROUTES[route] if a in world.ids(world.ours)]
        if not single or row["member"] != "own":
            continue
        bodies = [
            _bare(_body(_send(client, route, does, ids)))
            for ids in (world.ids(world.theirs), {**world.ids(world.ours), single[0]: 987654})
        ]
        assert bodies[0] == bodies[1], route


def _bare(body: str) -> str:
    """A page without what differs on every page: tokens, ids in addresses, times."""
    body = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", body)
    return re.sub(r"\d+", "n", re.sub(r"[A-Za-z0-9]{32,}", "", body))


def _should(cell: str, whose: str) -> bool:
    return cell == "all" or (cell == "own" and whose == "our")


def _opens(client: Client, route: str, does: str, world: World, side: Side) -> bool:
    """Anything but 404 counts as open: what a write without a body gets is another matter."""
    return _ask(client, route, does, world, side) != 404


def _ask(client: Client, route: str, does: str, world: World, side: Side) -> int:
    return int(_send(client, route, does, world.ids(side)).status_code)


def _send(client: Client, route: str, does: str, ids: dict[str, object]) -> HttpResponseBase:
    wanted = {name: ids[name] for name in ROUTES[route]}
    address = reverse(route, kwargs=wanted)
    return client.get(address) if does == "read" else client.post(address)


def _body(response: HttpResponseBase) -> str:
    return bytes(getattr(response, "content", b"")).decode()


def _nobody() -> User:
    return a_user("nobody")
