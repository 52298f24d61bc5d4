"""What every test of the room may use."""

from datetime import datetime

import pytest

from portal.common import clock
from tests.portal.requests.world import World, a_world


@pytest.fixture
def world(db: None, now: datetime) -> World:
    """Two teams and a pool, as of now."""
    return a_world(now)


@pytest.fixture
def at_now(monkeypatch: pytest.MonkeyPatch, now: datetime) -> datetime:
    """The clock stands still at now, for doors that read it."""
    monkeypatch.setattr(clock, "real_now", lambda: now)
    return now
