"""Listings of a cluster's nodes: what is written, once, and what the past keeps."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from portal.common.errors import Missing
from portal.common.models import AuditEvent
from portal.inventory import selectors, services
from portal.inventory.models import MaintenanceWindow, Node, NodeOutage, NodeState, Pool
from portal.inventory.services import SeenNode
from tests.builders import a_cluster, a_pool

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
ONE = SeenNode(name="n1", pool="h100", gpus=8, cpu_milli=64_000, memory_mib=512_000)
TWO = replace(ONE, name="n2")


@pytest.fixture
def pool() -> Pool:
    return a_pool("h100", cluster=a_cluster())


def listing(pool: Pool, now: datetime, *seen: SeenNode) -> services.NodeChanges:
    return services.record_nodes(cluster_id=pool.cluster_id, seen=seen, now=now)


def test_a_first_listing_adds_the_nodes(pool: Pool, now: datetime) -> None:
    changes = listing(pool, now, ONE, TWO)
    assert len(changes.added) == 2
    assert selectors.capacity_steps(pool_id=pool.pk, from_at=now, to_at=now + HOUR)[0].gpus == 16
    audited = AuditEvent.objects.get()
    assert audited.action == "inventory.nodes_recorded"
    assert audited.data == {"added": changes.added}


def test_the_same_listing_again_writes_nothing(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE, replace(TWO, ready=False))
    rows = list(Node.objects.values()), list(NodeOutage.objects.values())
    changes = listing(pool, now + HOUR, ONE, replace(TWO, ready=False))
    assert changes.as_data() == {}
    assert (list(Node.objects.values()), list(NodeOutage.objects.values())) == rows
    assert AuditEvent.objects.count() == 1


def test_a_node_that_vanished_is_removed_and_its_past_stays(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE, TWO)
    listing(pool, now + HOUR, ONE)
    assert Node.objects.get(name="n2").removed_at == now + HOUR
    steps = selectors.capacity_steps(pool_id=pool.pk, from_at=now, to_at=now + 2 * HOUR)
    assert [(s.from_at, s.gpus) for s in steps] == [(now, 16), (now + HOUR, 8)]


def test_a_node_that_comes_back_is_a_new_row(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    listing(pool, now + HOUR)
    listing(pool, now + 3 * HOUR, ONE)
    assert Node.objects.filter(name="n1").count() == 2
    steps = selectors.capacity_steps(pool_id=pool.pk, from_at=now, to_at=now + 4 * HOUR)
    assert [s.gpus for s in steps] == [8, 0, 8]


def test_a_node_with_other_gpus_becomes_a_new_row(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    listing(pool, now + HOUR, replace(ONE, gpus=4))
    old, new = Node.objects.order_by("pk")
    assert (old.gpus, old.removed_at, new.gpus, new.first_seen_at) == (
        8, now + HOUR, 4, now + HOUR,
    )  # fmt: skip


def test_a_node_in_another_pool_becomes_a_new_row(pool: Pool, now: datetime) -> None:
    other = a_pool("a100", cluster=pool.cluster)
    listing(pool, now, ONE)
    listing(pool, now + HOUR, replace(ONE, pool="a100"))
    old, new = Node.objects.order_by("pk")
    assert (old.pool_id, old.removed_at, new.pool_id) == (pool.pk, now + HOUR, other.pk)


def test_labels_change_in_place(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    changes = listing(pool, now + HOUR, replace(ONE, labels={"zone": "a"}, cordoned=True))
    node = Node.objects.get()
    assert (changes.updated, node.labels, node.state) == ([node.pk], {"zone": "a"}, "cordoned")


def test_not_ready_opens_an_outage_and_ready_closes_it(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    down = listing(pool, now + HOUR, replace(ONE, ready=False, reason="KubeletStopped"))
    listing(pool, now + 2 * HOUR, replace(ONE, ready=False))
    up = listing(pool, now + 3 * HOUR, ONE)
    node, outage = Node.objects.get(), NodeOutage.objects.get()
    assert (down.down, up.up) == ([node.pk], [node.pk])
    assert (outage.starts_at, outage.ends_at) == (now + HOUR, now + 3 * HOUR)
    assert outage.reason == "KubeletStopped"
    assert node.state == NodeState.READY


def test_a_node_lost_while_down_ends_its_outage(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    listing(pool, now + HOUR, replace(ONE, ready=False))
    listing(pool, now + 2 * HOUR)
    assert NodeOutage.objects.get().ends_at == now + 2 * HOUR


def test_a_node_first_seen_down_is_down_from_then_on(pool: Pool, now: datetime) -> None:
    listing(pool, now, replace(ONE, ready=False))
    assert NodeOutage.objects.get().starts_at == now
    listing(pool, now, ONE)
    assert not NodeOutage.objects.exists()


def test_two_listings_at_one_instant_leave_one_row(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    listing(pool, now, replace(ONE, gpus=4))
    assert list(Node.objects.values_list("gpus", "removed_at")) == [(4, None)]
    listing(pool, now)
    listing(pool, now + HOUR, ONE)
    assert Node.objects.filter(removed_at=None).count() == 1


def test_maintenance_stays_planned_when_the_machine_gets_a_new_row(
    pool: Pool, now: datetime
) -> None:
    listing(pool, now, ONE)
    node = Node.objects.get()
    running = services.plan_maintenance(
        node_id=node.pk, starts_at=now, ends_at=now + 4 * HOUR, now=now, actor_id=None
    )
    coming = services.plan_maintenance(
        node_id=node.pk, starts_at=now + 8 * HOUR, ends_at=now + 9 * HOUR, now=now, actor_id=None
    )
    listing(pool, now + HOUR, replace(ONE, gpus=4))
    found = selectors.list_maintenance(from_at=now, pool_id=pool.pk)
    assert [(m.gpus, m.starts_at, m.ends_at) for m in found] == [
        (8, now, now + HOUR),
        (4, now + HOUR, now + 4 * HOUR),
        (4, now + 8 * HOUR, now + 9 * HOUR),
    ]
    coming.refresh_from_db()
    running.refresh_from_db()
    assert (running.cancelled_at, coming.cancelled_at) == (None, now + HOUR)
    listing(pool, now + HOUR, replace(ONE, gpus=4))
    assert MaintenanceWindow.objects.count() == 4


def test_a_node_of_no_known_pool_is_left_out_and_named(pool: Pool, now: datetime) -> None:
    changes = listing(pool, now, ONE, replace(TWO, pool="mystery"))
    assert (len(changes.added), changes.unplaced) == (1, ["n2"])


def test_other_clusters_are_left_alone(pool: Pool, now: datetime) -> None:
    far = a_pool("h100", cluster=a_cluster("far"))
    listing(far, now, ONE)
    listing(pool, now, TWO)
    listing(pool, now + HOUR)
    assert Node.objects.get(name="n1").removed_at is None


def test_one_node_is_recorded_without_touching_the_others(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    services.record_node(cluster_id=pool.cluster_id, seen=TWO, now=now + HOUR)
    services.record_node(cluster_id=pool.cluster_id, seen=TWO, now=now + HOUR)
    assert Node.objects.filter(removed_at=None).count() == 2
    with pytest.raises(Missing):
        services.record_node(cluster_id=pool.cluster_id, seen=replace(TWO, pool="no"), now=now)


def test_single_moves_are_safe_to_repeat(pool: Pool, now: datetime) -> None:
    listing(pool, now, ONE)
    node = Node.objects.get()
    for _ in range(2):
        services.cordon(node_id=node.pk)
    for _ in range(2):
        services.cordon(node_id=node.pk, on=False)
    for _ in range(2):
        services.node_down(node_id=node.pk, now=now + HOUR)
    for _ in range(2):
        services.node_up(node_id=node.pk, now=now + 2 * HOUR)
    for _ in range(2):
        services.remove_node(node_id=node.pk, now=now + 3 * HOUR)
    assert list(AuditEvent.objects.values_list("action", "data")) == [
        ("inventory.nodes_recorded", {"added": [node.pk]}),
        ("inventory.cordoned", {"cluster": pool.cluster_id}),
        ("inventory.uncordoned", {"cluster": pool.cluster_id}),
        ("inventory.nodes_recorded", {"down": [node.pk]}),
        ("inventory.nodes_recorded", {"up": [node.pk]}),
        ("inventory.nodes_recorded", {"removed": [node.pk]}),
    ]
    with pytest.raises(Missing):
        services.node_down(node_id=404, now=now)


def test_a_thousand_nodes_cost_few_queries(
    pool: Pool, now: datetime, django_assert_max_num_queries: object
) -> None:
    seen = [replace(ONE, name=f"n{number}") for number in range(1000)]
    listing(pool, now, *seen)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        listing(pool, now + HOUR, *seen)
