"""What users of other systems found wrong beside requests, each with the number it has there."""

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from portal.quotas import services as quotas
from portal.scheduling import services as scheduling
from portal.scheduling.models import Decision
from tests import builders
from tests.portal.requests.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_now")]


def test_home_asks_little_where_there_is_little_coldfront_848(
    client: Client, world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """There it was 57 queries for a nearly empty page."""
    client.force_login(world.lead)
    client.get("/")
    with django_assert_max_num_queries(30):
        assert client.get("/").status_code == 200


def test_what_one_person_may_hold_of_a_teams_share_is_capped_tensorhive_338(
    world: World, now: datetime
) -> None:
    quotas.change(
        team_id=world.vision.pk, pool_id=world.pool.pk, guaranteed=4, limit=16, per_user_limit=2,
        valid_from=now, actor_id=None, now=now,
    )  # fmt: skip
    cluster = world.pool.cluster
    cluster.seen_real_at, cluster.stale_after_seconds = builders.LONG_AGO, 10**8
    cluster.save()
    for name, person in (("first", world.member), ("second", world.member), ("other", world.lead)):
        builders.a_workload(world.vision, world.pool, name, tasks=2, user=person, submitted_at=now)
    scheduling.run_tick(cluster_id=cluster.pk, now=now, real_now=builders.LONG_AGO)
    said = dict(Decision.objects.values_list("workload__name", "verb"))
    assert said == {"first": "start", "second": "wait", "other": "start"}
