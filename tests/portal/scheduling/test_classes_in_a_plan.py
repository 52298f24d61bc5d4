"""Each rule of a class changes what the next tick decides."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.common.errors import Invalid
from portal.inventory.models import ClusterMode, Pool
from portal.scheduling import services
from portal.scheduling.models import Decision
from portal.workloads import classes
from portal.workloads.classes import Class
from portal.workloads.models import ChargedTo, Workload
from tests import builders

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def pool() -> Pool:
    """Four nodes of eight that one team may use all of, half of them guaranteed."""
    pool = builders.a_pool(nodes=4)
    builders.a_quota(builders.a_team(), pool, guaranteed=16, limit=32)
    pool.cluster.seen_real_at = builders.LONG_AGO
    pool.cluster.stale_after_seconds = 10**8
    pool.cluster.save()
    return pool


def a_job(pool: Pool, name: str, kind: str, **given: Any) -> Workload:
    return builders.a_workload(pool.quotas.order_by("id")[0].team, pool, name, kind=kind, **given)


def tick(pool: Pool, now: datetime) -> dict[str, Decision]:
    services.run_tick(cluster_id=pool.cluster_id, now=now, real_now=builders.LONG_AGO)
    found = Decision.objects.select_related("workload").order_by("id")
    return {row.workload.name: row for row in found}


def nodes_of(detail: Mapping[str, Any]) -> list[int]:
    """How many tasks each node got, most first."""
    return sorted((place["tasks"] for place in detail["placements"]), reverse=True)


@pytest.mark.parametrize(
    ("kind", "placing", "expected"),
    [
        ("batch", "", [4]),
        ("batch", "spread", [1, 1, 1, 1]),
        ("inference", "", [1, 1, 1, 1]),
        ("inference", "pack", [4]),
    ],
)
def test_where_a_class_goes_among_the_nodes_is_its_rule_before_the_policy(
    pool: Pool, now: datetime, kind: str, placing: str, expected: list[int]
) -> None:
    """The policy packs, and serving goes apart, unless the class says otherwise."""
    classes.set_class(kind=kind, rule=Class(placement=placing), actor_id=None)
    a_job(pool, "job", kind, tasks=4)
    row = tick(pool, now)["job"]
    assert row.verb == "start"
    assert nodes_of(row.detail) == expected


def test_what_is_kept_together_stays_on_one_node_though_it_would_go_apart(
    pool: Pool, now: datetime
) -> None:
    rule = Class(placement="spread", together="node")
    classes.set_class(kind="training", rule=rule, actor_id=None)
    a_job(pool, "job", "training", tasks=4)
    assert nodes_of(tick(pool, now)["job"].detail) == [4]


def test_a_class_put_first_starts_before_what_came_earlier(pool: Pool, now: datetime) -> None:
    services.set_policy(
        cluster_id=pool.cluster_id, rules={"order": "priority"}, actor_id=None, now=now
    )
    classes.set_class(kind="interactive", rule=Class(order=100), actor_id=None)
    a_job(pool, "earlier", "batch", tasks=20, submitted_at=now - HOUR)
    a_job(pool, "later", "interactive", tasks=20, submitted_at=now)
    said = {name: row.verb for name, row in tick(pool, now).items()}
    assert said == {"earlier": "wait", "later": "start"}


@pytest.mark.parametrize(("may_be_stopped", "verb"), [(None, "start"), (False, "wait")])
def test_a_class_that_is_never_stopped_keeps_what_it_borrows(
    pool: Pool, now: datetime, may_be_stopped: bool | None, verb: str
) -> None:
    """Another team wants its guarantee back from jobs that fill the pool."""
    pool.cluster.mode = ClusterMode.RECLAIM
    pool.cluster.save()
    owner = builders.a_team("speech")
    builders.a_quota(owner, pool, guaranteed=8, limit=8)
    classes.set_class(kind="batch", rule=Class(preemptible=may_be_stopped), actor_id=None)
    for node in pool.nodes.all():
        held = a_job(
            pool, f"on-{node.name}", "batch", tasks=8, state="running",
            charged_to=ChargedTo.BORROWED,
        )  # fmt: skip
        for number in range(8):
            builders.a_pod(held, node, f"{node.name}-{number}")
    builders.a_workload(owner, pool, "wants-back", tasks=8)
    assert tick(pool, now)["wants-back"].verb == verb


def test_a_placement_nobody_knows_is_refused(pool: Pool) -> None:
    with pytest.raises(Invalid) as refused:
        classes.set_class(kind="batch", rule=Class(placement="random"), actor_id=None)
    assert set(refused.value.fields) == {"placement"}
