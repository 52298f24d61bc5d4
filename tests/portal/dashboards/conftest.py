"""The world every page test walks in."""

from datetime import datetime

import pytest

from tests.portal.dashboards import world as worlds
from tests.portal.dashboards.world import World


@pytest.fixture
def world(db: None, now: datetime) -> World:
    """A small organisation in full use, at nine in the morning."""
    return worlds.build(now)
