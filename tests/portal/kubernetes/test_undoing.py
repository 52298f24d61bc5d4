"""Undoing a sync: shown before, written back to the last field, refused when the cluster moved."""

import string
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.common import leases
from portal.common.errors import Conflict, Missing
from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import diff, services, standing, undoing
from portal.kubernetes.models import Drift, SyncRun, SyncState
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes import world
from tests.portal.kubernetes.test_syncing import a_tick, hard, sync
from tests.portal.kubernetes.world import START, minutes

NOW = START + minutes(5)


@pytest.fixture
def cluster(folder: Path, db: None) -> Cluster:
    return world.a_registered(folder, world.a_plan())[0]


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return world.reopened(cluster)


def synced_twice(cluster: Cluster) -> SyncRun:
    """A cluster whose last sync took one device from the burst and gave it to the guarantee."""
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    a_tick(cluster, 2, a100=(7, 3))
    run = sync(cluster, 2)
    assert run is not None
    return run


def undo(cluster: Cluster, run: SyncRun) -> SyncRun:
    """Undo this run."""
    return undoing.undo(cluster_id=cluster.pk, run_id=run.pk, actor_id=None, now=NOW)


def specs(port: SimulatedCluster) -> dict[str, Any]:
    """What every quota says."""
    return {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": deepcopy(item["spec"])
        for item in port.quotas().items
    }


def test_a_preview_says_each_field_from_what_to_what(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    run = synced_twice(cluster)
    before = specs(port)
    found = undoing.preview(cluster_id=cluster.pk, now=NOW)
    assert found.run == run
    assert found.is_possible
    assert [(w.name, c.field, c.was, c.now) for w in found.writes for c in w.changes] == [
        ("evenshare-guaranteed-a100", "spec.hard[requests.nvidia.com/gpu]", "7", "6")
    ]
    assert specs(port) == before


def test_an_undo_writes_back_what_was_there_and_lets_the_sync_rest(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    sync(cluster, 1)
    before = specs(port)
    a_tick(cluster, 2, a100=(7, 3))
    run = sync(cluster, 2)
    assert run is not None
    assert specs(port) != before

    done = undo(cluster, run)
    assert (done.state, done.writes, done.undoes) == (SyncState.DONE, 1, run)
    assert specs(port) == before
    assert standing.is_paused(cluster_id=cluster.pk)
    assert sync(cluster, 6) is None
    assert specs(port) == before
    last = list(AuditEvent.objects.order_by("id").values_list("action", flat=True))[-2:]
    assert last == ["kubernetes.sync_paused", "kubernetes.sync_undone"]

    standing.resume(cluster_id=cluster.pk, actor_id=None, now=NOW)
    sync(cluster, 7)
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "7"


def test_what_the_first_sync_made_goes_and_classes_stay(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4))
    run = sync(cluster, 1)
    assert run is not None
    found = undoing.preview(cluster_id=cluster.pk, now=NOW)
    assert {write.kind for write in found.removes} == {"ResourceQuota"}
    assert {write.kind for write in found.writes} == {"Namespace"}

    undo(cluster, run)
    assert port.quotas().items == ()
    labels = [item["metadata"]["labels"] for item in port.namespaces().items]
    assert not any("evenshare.io/team" in found for found in labels)
    assert port.priority_classes().items


def edit(port: SimulatedCluster, gpus: str, manager: str = "kubectl-edit") -> None:
    """Somebody writes to the guarantee's quota."""
    hostile = {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "evenshare-guaranteed-a100", "namespace": "vision"},
        "spec": {"hard": {"requests.nvidia.com/gpu": gpus}},
    }  # fmt: skip
    port.apply(hostile, manager=manager, force=True)


def test_a_cluster_that_moved_is_left_alone(cluster: Cluster, port: SimulatedCluster) -> None:
    run = synced_twice(cluster)
    edit(port, "99")
    (moved,) = undoing.preview(cluster_id=cluster.pk, now=NOW).moved
    assert (moved.written, moved.found) == ("7", "99")
    with pytest.raises(Conflict, match="moved since") as refused:
        undo(cluster, run)
    assert refused.value.code == "cluster_moved"
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "99"
    assert not standing.is_paused(cluster_id=cluster.pk)


def test_an_object_that_is_gone_has_moved_too(cluster: Cluster, port: SimulatedCluster) -> None:
    run = synced_twice(cluster)
    port.delete("ResourceQuota", "vision", "evenshare-guaranteed-a100")
    with pytest.raises(Conflict, match="moved since"):
        undo(cluster, run)


def test_a_sync_is_undone_once(cluster: Cluster) -> None:
    run = synced_twice(cluster)
    undo(cluster, run)
    with pytest.raises(Conflict, match="undone already"):
        undo(cluster, run)


def test_only_the_sync_one_was_shown_is_undone(cluster: Cluster) -> None:
    run = synced_twice(cluster)
    a_tick(cluster, 3, a100=(8, 2))
    sync(cluster, 3)
    with pytest.raises(Conflict, match="Another sync"):
        undo(cluster, run)


def test_where_nothing_was_written_nothing_is_undone(cluster: Cluster) -> None:
    with pytest.raises(Conflict, match="No sync has changed"):
        undoing.preview(cluster_id=cluster.pk, now=NOW)
    with pytest.raises(Missing):
        undoing.preview(cluster_id=cluster.pk + 1, now=NOW)


def test_a_cluster_that_is_only_observed_is_not_written(cluster: Cluster) -> None:
    run = synced_twice(cluster)
    Cluster.objects.update(mode=ClusterMode.OBSERVE)
    with pytest.raises(Conflict, match="only observed"):
        undo(cluster, run)


def test_no_undo_beside_a_sync_at_work(cluster: Cluster) -> None:
    run = synced_twice(cluster)
    with (
        leases.holding(name=f"sync-{cluster.pk}", seconds=60, holder="another"),
        pytest.raises(Conflict, match="at work"),
    ):
        undo(cluster, run)


def test_known_drift_stays_known_over_an_undo(cluster: Cluster, port: SimulatedCluster) -> None:
    a_tick(cluster, 1, a100=(6, 4), t4=(2, 0))
    sync(cluster, 1)
    edit(port, "99")
    a_tick(cluster, 2, a100=(6, 4), t4=(3, 0))
    run = sync(cluster, 2)
    assert run is not None
    undo(cluster, run)
    assert Drift.objects.filter(closed_at=None).count() == 1
    assert services.dry_run(cluster_id=cluster.pk, now=NOW).drifts


KEYS = st.text(string.ascii_letters + "-./_", min_size=1, max_size=30).filter(
    lambda key: key.strip(".") == key
)


@given(st.lists(KEYS, min_size=1, max_size=5).filter(lambda keys: "/" not in keys[0]))
def test_a_spelled_field_is_read_back_as_its_path(keys: list[str]) -> None:
    assert undoing.parsed(diff.spelled(tuple(keys))) == tuple(keys)
