"""Every route × role × own or other team, against a table written by hand.

`access.csv` says who may read and write at each route: `all`, `own` (things of one's own team
only) or nothing. A route that is missing there, or has no rule in the code, fails.
"""

from datetime import datetime

import pytest
from django.db import transaction
from django.test import Client

from portal.common import clock
from portal.teams.middleware import rule_for
from portal.teams.models import User
from portal.teams.permissions import Reach
from tests.builders import a_user
from tests.doors import ROUTES, TABLE, knock, table
from tests.world import HOLDERS, Side, World, a_holder, a_world

CLOSED_OR_PUBLIC = {Reach.CLOSED, Reach.PUBLIC}


def test_every_route_has_a_name_a_rule_and_a_line_in_the_table() -> None:
    listed = {route for route, _ in table()}
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
        for (route, does), row in table().items()
        for whose, side in (("our", world.ours), ("their", world.theirs))
        if (opened := _opens(client, route, does, world, side))
        != _should(row.get(holder, ""), whose)
    ]
    assert wrong == []


@pytest.mark.django_db
def test_who_is_not_signed_in_gets_nowhere(world: World, client: Client) -> None:
    for route, does in table():
        status = knock(client, route, does, world.ids(world.ours)).status_code
        assert status in (302, 401), f"{does} {route}: {status}"


def _should(cell: str, whose: str) -> bool:
    return cell == "all" or (cell == "own" and whose == "our")


def _opens(client: Client, route: str, does: str, world: World, side: Side) -> bool:
    """Anything but 404 counts as open: what a write without a body gets is another matter.

    What it did is taken back, so that the next door leads to what it did before.
    """
    with transaction.atomic():
        answer = knock(client, route, does, world.ids(side))
        transaction.set_rollback(True)
    return answer.status_code != 404


def _nobody() -> User:
    return a_user("nobody")
