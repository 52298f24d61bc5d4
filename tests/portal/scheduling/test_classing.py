"""The rules of classes as the engine meets them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Invalid, Missing
from portal.inventory.models import Pool
from portal.reservations.models import ReservationState
from portal.scheduling import freezing, sentences, services
from portal.scheduling.models import Decision
from portal.scheduling.sentences import Names
from portal.usage.models import MeasuredUse
from portal.workloads import classes
from portal.workloads.classes import Class, Door
from portal.workloads.models import PoolClass, Workload
from scheduler_core import model as engine
from tests import builders

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def pool() -> Pool:
    """Two nodes of eight, half of them guaranteed to Vision."""
    pool = builders.a_pool(nodes=2)
    builders.a_quota(builders.a_team(), pool, guaranteed=8, limit=16)
    pool.cluster.seen_real_at = builders.LONG_AGO
    pool.cluster.stale_after_seconds = 10**8
    pool.cluster.save()
    return pool


def a_job(pool: Pool, name: str, kind: str = "batch", **given: Any) -> Workload:
    team = pool.quotas.get().team
    return builders.a_workload(team, pool, name, kind=kind, **given)


def frozen(pool: Pool, now: datetime) -> dict[str, engine.Workload]:
    made = freezing.freeze(cluster_id=pool.cluster_id, now=now)
    names = dict(Workload.objects.values_list("id", "name"))
    return {names[made.work.rows[w.id]]: w for w in made.snapshot.workloads}


def decided(pool: Pool, now: datetime) -> dict[str, tuple[str, str]]:
    services.run_tick(cluster_id=pool.cluster_id, now=now, real_now=builders.LONG_AGO)
    found = Decision.objects.select_related("workload").order_by("id")
    return {d.workload.name: (d.verb, d.reason) for d in found}


def test_a_class_says_whether_it_may_be_stopped_how_it_is_ordered_and_kept_together(
    pool: Pool, now: datetime
) -> None:
    classes.set_class(
        kind="inference", actor_id=None, rule=Class(preemptible=False, order=50, together="node")
    )
    a_job(pool, "serve", kind="inference", priority=7, tasks=2)
    a_job(pool, "one", kind="inference")
    a_job(pool, "crunch", priority=7, tasks=2)
    made = frozen(pool, now)
    assert (made["serve"].preemptible, made["serve"].priority) == (False, 57)
    assert made["serve"].topology == engine.Topology(level="node")
    assert made["one"].topology is None
    assert (made["crunch"].preemptible, made["crunch"].priority) == (True, 7)


def test_a_pool_closed_to_small_jobs_of_a_class_takes_the_large_ones(
    pool: Pool, now: datetime
) -> None:
    classes.set_doors(pool_id=pool.pk, doors={"batch": Door(min_gpus=4)}, actor_id=None)
    a_job(pool, "small", tasks=3)
    a_job(pool, "large", tasks=4)
    a_job(pool, "trains", kind="training", tasks=1)
    said = decided(pool, now)
    assert said["small"] == ("wait", "taint")
    assert said["large"][0] == said["trains"][0] == "start"
    row = Decision.objects.get(workload__name="small")
    names = Names(pools={pool.pk: "h100"}, teams={}, workloads={})
    words = sentences.reason_sentence(row.reason, row.detail, names=names)
    assert words.text == "The rules of h100 close it to jobs of this class or size."


def test_a_pool_closed_to_a_class_takes_those_in_a_reservation(pool: Pool, now: datetime) -> None:
    classes.set_doors(pool_id=pool.pk, doors={"batch": Door(is_open=False)}, actor_id=None)
    held = builders.a_reservation(
        pool.quotas.get().team, pool, now, hours=4, state=ReservationState.ACTIVE
    )
    a_job(pool, "free", tasks=2)
    a_job(pool, "reserved", tasks=2, reservation=held)
    said = decided(pool, now)
    assert (said["free"][0], said["reserved"][0]) == ("wait", "start")


def test_an_open_pool_changes_nothing_in_the_snapshot(pool: Pool, now: datetime) -> None:
    classes.set_doors(pool_id=pool.pk, doors={"batch": Door()}, actor_id=None)
    a_job(pool, "any")
    assert not PoolClass.objects.exists()
    assert frozen(pool, now)["any"].tolerations == ()


def test_who_lies_idle_for_longer_than_the_class_allows_goes_first(
    pool: Pool, now: datetime
) -> None:
    classes.set_class(
        kind="interactive", actor_id=None, rule=Class(preemptible=False, idle_hours=2)
    )
    node = pool.nodes.first()
    used = {"idle": (0, 179), "busy": (0, 181), "unmeasured": (0, None)}  # 5 % of it is 180
    for name, hours in used.items():
        job = a_job(pool, name, kind="interactive", state="running", priority=5)
        builders.a_pod(job, node)
        for number, seconds in enumerate(hours, 1):
            if seconds is not None:
                MeasuredUse.objects.create(
                    workload_id=job.pk, hour=now - number * HOUR, measured_milli_seconds=3_600_000,
                    used_milli_seconds=seconds * 1000, cluster=pool.cluster, source="dcgm",
                    noted_at=now,
                )  # fmt: skip
    made = frozen(pool, now)
    found = {name: (w.preemptible, w.priority) for name, w in made.items()}
    assert found == {"idle": (True, -(10**9)), "busy": (False, 5), "unmeasured": (False, 5)}


def test_rules_that_make_no_sense_are_refused(pool: Pool) -> None:
    with pytest.raises(Invalid) as wrong:
        classes.set_class(kind="toy", actor_id=None, rule=Class(order=10**7, idle_hours=0))
    assert set(wrong.value.fields) == {"kind", "order", "idle_hours"}
    with pytest.raises(Invalid):
        classes.set_doors(pool_id=pool.pk, doors={"toy": Door()}, actor_id=None)
    with pytest.raises(Missing):
        classes.set_doors(pool_id=987654, doors={}, actor_id=None)
