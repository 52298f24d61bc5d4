"""Planned work, and clusters, pools and namespaces as they are registered."""

from datetime import datetime, timedelta

import pytest

from portal.common.errors import Conflict, Invalid, Missing
from portal.common.models import AuditEvent
from portal.inventory import selectors, services
from portal.inventory.models import (
    Cluster,
    ClusterKind,
    ClusterMode,
    NamespaceOwner,
    Node,
    Pool,
)
from tests.builders import a_cluster, a_pool, a_team

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def node() -> Node:
    return a_pool(nodes=1).nodes.get()


def plan(node: Node, now: datetime, start: int, end: int) -> int:
    return services.plan_maintenance(
        node_id=node.pk, starts_at=now + start * HOUR, ends_at=now + end * HOUR, now=now,
        actor_id=None, reason="New driver",
    ).pk  # fmt: skip


def capacity(node: Node, now: datetime, hours: int) -> list[int]:
    found = selectors.capacity_steps(pool_id=node.pool_id, from_at=now, to_at=now + hours * HOUR)
    return [step.gpus for step in found]


def test_work_called_off_before_it_begins_never_was(node: Node, now: datetime) -> None:
    window_id = plan(node, now, 2, 4)
    for _ in range(2):
        services.cancel_maintenance(window_id=window_id, now=now + HOUR, actor_id=None)
    assert capacity(node, now, 6) == [8]
    actions = list(AuditEvent.objects.values_list("action", flat=True))
    assert actions == ["inventory.maintenance_planned", "inventory.maintenance_cancelled"]


def test_work_called_off_while_it_runs_ends_now_and_stays_in_the_past(
    node: Node, now: datetime
) -> None:
    window_id = plan(node, now, 2, 4)
    services.cancel_maintenance(window_id=window_id, now=now + 3 * HOUR, actor_id=None)
    assert capacity(node, now, 6) == [8, 0, 8]
    assert selectors.list_maintenance(from_at=now)[0].ends_at == now + 3 * HOUR
    with pytest.raises(Conflict):
        services.cancel_maintenance(window_id=window_id, now=now + 5 * HOUR, actor_id=None)


def test_work_in_the_past_or_backwards_is_refused(node: Node, now: datetime) -> None:
    with pytest.raises(Invalid) as refused:
        plan(node, now, -1, 2)
    assert set(refused.value.fields) == {"starts_at"}
    with pytest.raises(Invalid) as refused:
        plan(node, now, 2, 2)
    assert set(refused.value.fields) == {"ends_at"}


def test_work_on_what_is_not_there_is_missing(node: Node, now: datetime) -> None:
    services.remove_node(node_id=node.pk, now=now)
    with pytest.raises(Missing):
        plan(node, now, 1, 2)
    with pytest.raises(Missing):
        services.cancel_maintenance(window_id=404, now=now, actor_id=None)


def test_a_namespace_passes_from_team_to_team_with_its_history(now: datetime) -> None:
    cluster, vision, speech = a_cluster(), a_team("vision"), a_team("speech")

    def say(team_id: int | None, at: datetime) -> None:
        services.register_namespace(cluster_id=cluster.pk, name="ml", team_id=team_id, now=at)

    say(vision.pk, now)
    say(vision.pk, now + HOUR)
    say(speech.pk, now + 2 * HOUR)
    say(None, now + 3 * HOUR)
    periods = NamespaceOwner.objects.order_by("valid_from")
    assert list(periods.values_list("team_id", "valid_from", "valid_to")) == [
        (vision.pk, now, now + 2 * HOUR),
        (speech.pk, now + 2 * HOUR, now + 3 * HOUR),
    ]
    assert selectors.namespace_teams(cluster_id=cluster.pk, now=now + HOUR) == {"ml": vision.pk}
    assert selectors.namespace_teams(cluster_id=cluster.pk, now=now + 2 * HOUR) == {"ml": speech.pk}
    assert selectors.namespace_teams(cluster_id=cluster.pk, now=now + 3 * HOUR) == {}
    assert AuditEvent.objects.count() == 3


def test_an_owner_named_wrongly_and_at_once_corrected_leaves_no_trace_in_time(
    now: datetime,
) -> None:
    cluster, vision, speech = a_cluster(), a_team("vision"), a_team("speech")
    for team in (vision, speech):
        services.register_namespace(cluster_id=cluster.pk, name="ml", team_id=team.pk, now=now)
    assert list(NamespaceOwner.objects.values_list("team_id", "valid_to")) == [(speech.pk, None)]


def test_clusters_and_pools_are_registered_once(now: datetime) -> None:
    def register() -> tuple[Cluster, Pool]:
        cluster = services.register_cluster(
            name="lab", kind=ClusterKind.SIMULATED, now=now, actor_id=None
        )
        pool = services.register_pool(
            cluster_id=cluster.pk, name="t4", gpu_model="T4", memory_mib=15360, now=now,
            actor_id=None,
        )  # fmt: skip
        return cluster, pool

    cluster, pool = register()
    assert register() == (cluster, pool)
    for _ in range(2):
        services.change_cluster(
            cluster_id=cluster.pk, mode=ClusterMode.OBSERVE, settings={}, stale_after_seconds=60,
            actor_id=None,
        )  # fmt: skip
        services.change_pool(
            pool_id=pool.pk, gpu_equivalent_milli=400, topology_levels=["rack"], position=2,
            actor_id=None,
        )  # fmt: skip
    row = selectors.get_pool(pool_id=pool.pk, now=now)
    assert (row.gpu_model, row.memory_mib, row.gpu_equivalent_milli) == ("T4", 15360, 400)
    assert list(AuditEvent.objects.values_list("action", flat=True)) == [
        "inventory.cluster_registered",
        "inventory.gpu_model_registered",
        "inventory.pool_registered",
        "inventory.cluster_changed",
        "inventory.pool_changed",
    ]


def test_a_cluster_is_stale_when_real_time_says_so(now: datetime) -> None:
    cluster = a_cluster()
    assert selectors.is_stale(cluster=cluster, real_now=now)
    services.mark_read(cluster_id=cluster.pk, now=now + 9 * HOUR, real_now=now)
    cluster.refresh_from_db()
    assert not selectors.is_stale(cluster=cluster, real_now=now + timedelta(seconds=120))
    assert selectors.is_stale(cluster=cluster, real_now=now + timedelta(seconds=121))
    services.mark_failed(cluster_id=cluster.pk, error="no route")
    cluster.refresh_from_db()
    assert (cluster.seen_real_at, cluster.last_error) == (now, "no route")
