"""Ten thousand spoilt snapshots, divisions and traces: each answered, or refused by its path."""

import pytest

from tests.scheduler_core import fuzzing

pytestmark = pytest.mark.drill
SEED = 1
CHUNK = 500


@pytest.mark.parametrize("first", range(0, 10_000, CHUNK))
def test_nothing_that_is_fed_to_the_engine_gives_a_traceback(first: int) -> None:
    found = {}
    for number in range(first, first + CHUNK):
        run = fuzzing.run_of(SEED, number)
        found[number] = fuzzing.complaint(run, fuzzing.execute(run))
    assert {number: told for number, told in found.items() if told} == {}
