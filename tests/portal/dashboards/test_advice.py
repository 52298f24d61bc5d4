"""How often to save is told from what the pool suffered."""

from datetime import datetime, timedelta

import pytest

from portal.dashboards import words
from portal.dashboards.selectors import advice
from portal.inventory.models import Node, NodeOutage, Pool
from portal.workloads.models import Workload
from tests import builders
from tests.portal.dashboards.test_pages import get, text
from tests.portal.dashboards.world import World

DAY = timedelta(days=1)


def a_job(pool: Pool, *, tasks: int = 1, save: int | None = 200) -> Workload:
    job = builders.a_workload(
        builders.a_team("search"), pool, "sft", tasks=tasks, gpu_milli=8000, save_seconds=save,
        restore_seconds=300,
    )  # fmt: skip
    return Workload.objects.get(pk=job.pk)


def failed(pool: Pool, *days_back: int, now: datetime) -> None:
    node = pool.nodes.order_by("name").first()
    assert node is not None
    for days in days_back:
        NodeOutage.objects.create(
            node=node, starts_at=now - days * DAY, ends_at=now - days * DAY + DAY / 24
        )


@pytest.mark.django_db
def test_it_is_youngs_interval_of_the_pools_own_failures(now: datetime) -> None:
    """4 nodes for 90 days and 10 failures: one each 36 node-days, 3,110,400 s; √(2·200·that)."""
    pool = builders.a_pool("h100", nodes=4)
    failed(pool, *range(1, 11), now=now)
    failed(pool, 200, now=now)
    found = advice.advise(a_job(pool), (), now=now)
    assert found is not None
    assert (found.failures, found.nodes, found.mean_seconds) == (10, 1, 3_110_400)
    assert found.interval_seconds == 35_273
    assert "Save about every 9 h 47 m" in words.advice(found)


@pytest.mark.django_db
def test_a_job_on_four_nodes_saves_twice_as_often(now: datetime) -> None:
    pool = builders.a_pool("h100", nodes=4)
    failed(pool, *range(1, 11), now=now)
    found = advice.advise(a_job(pool, tasks=4), (), now=now)
    assert found is not None
    assert (found.nodes, found.interval_seconds) == (4, 17_636)


@pytest.mark.django_db
def test_a_node_counts_only_for_the_time_it_was_known(now: datetime) -> None:
    pool = builders.a_pool("h100", nodes=1)
    Node.objects.update(first_seen_at=now - 9 * DAY)
    failed(pool, 1, 2, 3, now=now)
    found = advice.advise(a_job(pool), (), now=now)
    assert found is not None
    assert (found.mean_seconds, found.days) == (3 * 86_400, 9)


@pytest.mark.django_db
def test_nothing_is_advised_where_nothing_failed_or_nothing_can_be_saved(now: datetime) -> None:
    pool = builders.a_pool("h100", nodes=1)
    assert advice.advise(a_job(pool), (), now=now) is None
    failed(pool, 1, now=now)
    Workload.objects.update(save_seconds=None)
    assert advice.advise(Workload.objects.get(), (), now=now) is None


def test_the_page_of_a_job_shows_it(world: World) -> None:
    failed(world.pool, 1, now=world.now)
    Workload.objects.filter(pk=world.running.pk).update(save_seconds=60, restore_seconds=60)
    page = text(get(world, "lead", f"/queue/{world.running.pk}/"))
    assert "Save about every" in page
