"""Forbidden and unknown are the same 404: in status, headers and body, and in time.

Time is not measured in seconds: on a machine that does other things too, a bound that never fails
by chance is so wide that it proves nothing. What makes time is the work: so both must send the
database the same statements in the same order, and run the same functions of ours the same number
of times. What differs then is only what a row that exists costs a lookup by its key more than one
that does not, below what a network lets anybody tell apart.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

import portal
from portal.common import clock
from tests.doors import ROUTES, UNKNOWN_ID, bare, body, knock, statements, table
from tests.world import World, a_holder, a_world

pytestmark = pytest.mark.django_db
DIFFERENT_EACH_TIME = {"X-Request-Id", "Content-Length", "RateLimit-Remaining", "RateLimit-Reset"}
OURS = str(Path(portal.__file__).parent)


@dataclass(frozen=True)
class Seen:
    """All a stranger can see of an answer, and the work it took."""

    status: int
    headers: dict[str, str]
    body: str
    statements: tuple[str, ...]
    called: Counter[str]


@contextmanager
def _calls() -> Iterator[Counter[str]]:
    """Count how often each function of the portal is entered."""
    counted: Counter[str] = Counter()

    def enter(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # and no module being loaded just now
        if event == "call" and is_function and code.co_filename.startswith(OURS):
            counted[f"{code.co_filename[len(OURS) :]}:{code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        yield counted
    finally:
        sys.setprofile(before)


def _see(client: Client, route: str, does: str, ids: dict[str, object]) -> Seen:
    with CaptureQueriesContext(connection) as sent, _calls() as called:
        answer = knock(client, route, does, ids)
    headers = {n: v for n, v in answer.headers.items() if n not in DIFFERENT_EACH_TIME}
    return Seen(
        answer.status_code, headers, bare(body(answer)),
        statements(sent), called,
    )  # fmt: skip


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


@pytest.mark.parametrize("holder", ["member", "lead", "finance"])
def test_forbidden_and_unknown_are_alike_in_what_is_seen_and_in_the_work(
    world: World, holder: str
) -> None:
    client = Client()
    client.force_login(a_holder(holder, world.ours.team))
    theirs, compared, differ = world.ids(world.theirs), 0, []
    for (route, does), row in table().items():
        numbered = [name for name in ROUTES[route] if isinstance(theirs.get(name), int)]
        if not numbered or row[holder] == "all":
            continue
        if not compared:
            _see(client, route, does, theirs)  # what is done once a process is done
        forbidden = _see(client, route, does, theirs)
        unknown = _see(client, route, does, {**theirs, numbered[-1]: UNKNOWN_ID})
        compared += 1
        if forbidden.status != 404 or forbidden != unknown:
            differ.append(f"{does} {route}: {_difference(forbidden, unknown)}")
    assert compared > 10
    assert differ == []


def _difference(one: Seen, other: Seen) -> str:
    if one.status != other.status or one.headers != other.headers or one.body != other.body:
        return f"{one.status} {other.status} {one.body[:200]} {other.body[:200]}"
    if one.statements != other.statements:
        return f"{set(one.statements) ^ set(other.statements)}"
    return f"{one.called - other.called} {other.called - one.called}"
