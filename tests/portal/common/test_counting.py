"""Several counts in one question."""

import pytest
from pytest_django import DjangoAssertNumQueries

from portal.common import counting
from portal.teams.models import Team
from tests import builders


def test_every_name_gets_its_count_in_one_query(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("vision", "speech", "search"):
        builders.a_team(name)
    wanted = {
        "all": Team.objects.order_by("name"),
        "s": Team.objects.filter(name__startswith="S"),
        "none": Team.objects.filter(name="nobody"),
    }
    with django_assert_num_queries(1):
        assert counting.together(wanted) == {"all": 3, "s": 2, "none": 0}


@pytest.mark.parametrize("count", [0, 5])
def test_one_alone_and_nothing_at_all_are_counted_too(db: None, count: int) -> None:
    for number in range(count):
        builders.a_team(f"team-{number}")
    assert counting.together({"all": Team.objects.all()}) == {"all": count}
    assert counting.together({}) == {}
