"""Every list page over few rows and over ten times as many, with all that stands around it."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.common import clock
from portal.requests import trying
from portal.teams.models import User
from tests.benchmarks import portal_pages_rows as rows
from tests.benchmarks.portal_pages import goal_of

pytestmark = pytest.mark.django_db
FEW, MANY = 10, 100


def _asked(count: int) -> list[tuple[str, int]]:
    """How many queries each page asks over so many rows."""
    found: list[tuple[str, int]] = []
    pages = rows.fill(count)
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    for page in pages:
        client.get(page)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(page).status_code == 200, page
        found.append((page, len(seen)))
    return found


def test_no_list_asks_more_often_for_ten_times_the_rows_nor_more_than_its_goal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "real_now", lambda: rows.NOW)
    few = trying.taken_back(lambda: _asked(FEW))
    many = trying.taken_back(lambda: _asked(MANY))
    # Ids in addresses are others the second time; the pages come in the same order.
    both = zip(few, many, strict=True)
    assert [(page, n, more) for (_page, n), (page, more) in both if more > n] == []
    assert [(page, n) for page, n in many if n > goal_of(page)] == []
