"""schemathesis asks every operation of the document, as each role, what nobody expected.

Neither a failure of ours nor an answer the document does not announce is allowed, whatever is
sent: bodies of the right shape, and bodies and addresses of the wrong one.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from schemathesis import GenerationMode

from portal.common import clock
from portal.teams import services as teams
from tests.portal.api import fuzzing
from tests.world import World, a_holder, a_world

pytestmark = [
    pytest.mark.django_db,
    # The file of an upload that breaks off is closed only when it is collected.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ROLES = ("member", "lead", "admin", "finance")


@pytest.fixture(autouse=True)
def _connected() -> Iterator[None]:
    """Keep the test's connection: the application closes those that no transaction knows of."""
    ends = (request_started, request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    yield
    for end in ends:
        end.connect(close_old_connections)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, now: datetime) -> World:
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return a_world(now)


def _ask_all(world: World, role: str, examples: int) -> Counter[str]:
    secret = teams.create_token(
        user_id=a_holder(role, world.ours.team).pk, name="fuzz", scopes=["all:write"], days=30
    )
    asked: Counter[str] = Counter()
    for operation in fuzzing.operations(world):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            asked[operation.label] += fuzzing.ask(operation, secret, examples=examples, mode=mode)
    return asked


@pytest.mark.parametrize("role", ["admin", "lead", "finance"])
def test_no_operation_fails_or_answers_what_it_does_not_announce(world: World, role: str) -> None:
    asked = _ask_all(world, role, examples=1)
    assert min(asked.values()) >= 1


@pytest.mark.drill
@pytest.mark.parametrize("role", ROLES)
def test_nor_does_any_however_long_one_asks(world: World, role: str) -> None:
    asked = _ask_all(world, role, examples=150)
    assert sum(asked.values()) > 5000
