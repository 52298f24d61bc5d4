"""Each race is run several times with another seed: other people are quick, others slow."""

import os

import pytest

from tests.races.crowd import Crowd

TIMES = int(os.environ.get("RACES", "4"))


@pytest.fixture(params=range(TIMES), ids="seed-{}".format)
def seed(request: pytest.FixtureRequest) -> int:
    """What decides who pauses where."""
    return int(request.param)


@pytest.fixture
def crowd(seed: int, committed_database: str) -> Crowd:
    """People with a connection each, over a database of this test's own."""
    return Crowd(seed)
