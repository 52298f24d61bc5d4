"""Home says how promises and budgets stand."""

from datetime import timedelta

from portal.dashboards.selectors import promises
from portal.slas.models import Sla, Tier
from portal.teams import selectors as teams
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World


def a_promise(world: World, minutes: int, goal: int = 900) -> Sla:
    tier = Tier.objects.create(
        name="Gold", target_wait_seconds=minutes * 60, goal_permille=goal, created_at=world.now
    )
    return Sla.objects.create(
        team=world.vision,
        tier=tier,
        valid_from=world.now - timedelta(days=90),
        created_at=world.now,
    )


def test_what_started_in_time_is_kept_and_what_waits_beyond_is_missed(world: World) -> None:
    """Two of Vision's jobs started after 10 minutes; the third waits for half an hour."""
    a_promise(world, minutes=20)
    tree = teams.get_tree(now=world.now)
    found = promises.list_promises([world.vision.pk], tree=tree, now=world.now)
    row = found[world.vision.pk][0]
    assert (row.kept, row.decided, row.percent, row.tone) == (2, 3, 66.6, "bad")


def test_what_waits_within_its_target_counts_neither_way(world: World) -> None:
    a_promise(world, minutes=60)
    tree = teams.get_tree(now=world.now)
    row = promises.list_promises([world.vision.pk], tree=tree, now=world.now)[world.vision.pk][0]
    assert (row.kept, row.decided, row.tone) == (2, 2, "good")


def test_home_shows_it_to_those_who_work_there(world: World) -> None:
    a_promise(world, minutes=20)
    page = text(get(world, "member", "/"))
    assert "Starts within 20 m" in page
    assert "66.6 %" in page
