"""The embedded loop runs the periodic table that workers run in production."""

from datetime import timedelta
from pathlib import Path

import pytest
from celery import current_app
from pytest_django import Settings

from portal.common import clock
from portal.inventory.models import Cluster, Pool
from portal.kubernetes.simulated.building import Plan
from portal.kubernetes.simulated.workshop import Rules
from portal.operations import history
from portal.operations.loop import Loop
from portal.quotas import services as quotas
from portal.scheduling.models import Tick, TickState
from portal.teams.models import Organisation, Team
from portal.workloads.models import Workload
from scheduler_core.traces import Job, Node
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(settings: Settings, tmp_path: Path) -> Cluster:
    settings.VAR_DIR = tmp_path
    now = clock.real_now() - timedelta(hours=1)
    Organisation.objects.create(name="Test")
    builders.a_team("vision")
    plan = Plan(
        nodes=(Node("n0", 8, 128_000, 1_048_576, "H100"),),
        jobs=tuple(Job(f"j{n}", 60 * n, 86_400, 4000, team="vision") for n in range(3)),
        rules=Rules(seed=3, starts_at=int(now.timestamp())),
        namespace_of=lambda job: job.team, unowned_share=0.0,
    )  # fmt: skip
    return history.set_up_cluster(name="lab", plan=plan, now=now, actor_id=None)


def test_the_table_names_every_step_in_the_order_of_a_turn() -> None:
    Loop(simulated=False)
    table = [entry["task"] for entry in current_app.conf.beat_schedule.values()]
    assert table[:3] == ["kubernetes.collect", "scheduling.tick", "kubernetes.sync"]
    assert {"requests.expire", "finance.reckon"} <= set(table)
    assert set(table) <= set(current_app.tasks)


def test_a_round_sees_decides_and_writes(cluster: Cluster) -> None:
    loop = Loop(simulated=True)
    loop.round()
    team, pool = Team.objects.get(), Pool.objects.get()
    quotas.change(
        team_id=team.pk, pool_id=pool.pk, guaranteed=4, limit=8, actor_id=None,
        valid_from=clock.real_now(), now=clock.real_now(),
    )  # fmt: skip
    loop.ran_at.clear()
    loop.round()
    assert Workload.objects.count() == 3
    tick = Tick.objects.latest("id")
    assert (tick.state, tick.waiting + tick.running + tick.starts) == (TickState.DONE, 3)
    assert cluster.sync_runs.exists()


def test_what_is_not_due_yet_does_not_run_again(cluster: Cluster) -> None:
    loop = Loop(simulated=False)
    loop.round()
    ticks = Tick.objects.count()
    loop.round()
    assert Tick.objects.count() == ticks == 1
