"""Whatever befalls an installation, it stands again by itself, with nothing lost and nothing twice.

Each trouble has a long drill of its own (`make drills`); `make test` strikes with all of them in a
row, in an order the seed chooses. After each, ticks go on and pages answer; at the end the ledger
equals the cluster's books, no decision is said twice, no two ticks ran at once, the audit chain is
whole, nothing has drifted, and at no instant was a quota above what was approved.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from tests.drills import stores, troubles
from tests.drills.house import a_house, connected
from tests.drills.stores import Stores
from tests.drills.troubles import Trouble

pytestmark = pytest.mark.services
SEED = int(os.environ.get("DRILL_SEED", "1"))


@pytest.fixture(scope="module")
def made(django_db_blocker: DjangoDbBlocker) -> Iterator[Stores]:
    """Stores of this module's own, with tables to copy."""
    with django_db_blocker.unblock(), stores.running() as running:
        running.postgres.execute("CREATE DATABASE template_tables")
        with connected(running.postgres.url("template_tables")):
            call_command("migrate", verbosity=0)
        yield running


def _strike(made: Stores, folder: Path, *blows: Trouble) -> None:
    draw = random.Random(SEED)
    with a_house(made, "template_tables", folder / "house") as house:
        for blow in blows:
            blow(house, draw)
            try:
                house.recovers()
            except AssertionError as error:
                said = troubles.what_went_on(house)
                raise AssertionError(f"after {blow.__name__}: {said}") from error
        house.comes_to_rest()
        house.stands()


def test_all_troubles_in_a_row_leave_the_house_as_it_should_be(
    made: Stores, tmp_path: Path
) -> None:
    blows = list(troubles.ALL)
    random.Random(SEED).shuffle(blows)
    _strike(made, tmp_path, *blows)


@pytest.mark.drill
@pytest.mark.parametrize("blow", troubles.ALL, ids=lambda blow: blow.__name__)
def test_a_trouble_that_lasts_leaves_the_house_as_it_should_be(
    made: Stores, tmp_path: Path, blow: Trouble
) -> None:
    _strike(made, tmp_path, blow)
