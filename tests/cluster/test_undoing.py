"""Undoing a sync on a real server, as our account: to the last field, and not when others wrote."""

import pytest

from portal.common.errors import Conflict
from portal.inventory.models import Cluster
from portal.kubernetes import services, standing, undoing
from portal.kubernetes.models import SyncRun, SyncState
from tests.cluster import kubelet
from tests.cluster.kit import Manifest
from tests.cluster.worlds import H100, NVIDIA, Team, World

GUARANTEED = "evenshare-guaranteed-h100"


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """A pool of eight, labelled by us at the first sync."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    return world.add()


def sync(world: World, cluster: Cluster) -> SyncRun:
    """One sync that has something to write."""
    run = services.sync_cluster(cluster_id=cluster.pk, now=world.now)
    assert run is not None
    assert run.state == SyncState.DONE
    return run


def specs(world: World, namespace: str) -> dict[str, Manifest]:
    """What each quota of a namespace says."""
    found = world.kit.find("ResourceQuota", namespace)
    return {item["metadata"]["name"]: item["spec"] for item in found}


def test_a_sync_is_undone_to_the_last_field(world: World, vision: Team, cluster: Cluster) -> None:
    world.decide(cluster, (vision, "h100", 2, 0), fence=1)
    sync(world, cluster)
    before = specs(world, vision.namespace)
    world.decide(cluster, (vision, "h100", 5, 1), fence=2)
    run = sync(world, cluster)
    assert specs(world, vision.namespace) != before

    shown = undoing.preview(cluster_id=cluster.pk, now=world.now)
    assert shown.is_possible
    done = undoing.undo(cluster_id=cluster.pk, run_id=run.pk, actor_id=None, now=world.now)
    assert (done.state, done.message) == (SyncState.DONE, "")
    assert specs(world, vision.namespace) == before
    assert services.sync_cluster(cluster_id=cluster.pk, now=world.now) is None
    assert specs(world, vision.namespace) == before

    standing.resume(cluster_id=cluster.pk, actor_id=None, now=world.now)
    sync(world, cluster)
    hard = specs(world, vision.namespace)[GUARANTEED]["hard"]
    assert hard["requests.nvidia.com/gpu"] == "5"


def test_what_the_first_sync_made_goes_with_it(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 0))
    run = sync(world, cluster)
    shown = undoing.preview(cluster_id=cluster.pk, now=world.now)
    assert {write.kind for write in shown.removes} == {"ResourceQuota"}
    assert {kind for kind, _namespace, _name in shown.stays} == {"PriorityClass"}
    done = undoing.undo(cluster_id=cluster.pk, run_id=run.pk, actor_id=None, now=world.now)
    assert (done.state, done.message) == (SyncState.DONE, "")
    assert specs(world, vision.namespace) == {}


def test_a_cluster_that_moved_is_left_as_it_is(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 0))
    run = sync(world, cluster)
    change = {"spec": {"hard": {"requests.nvidia.com/gpu": "7"}}}
    world.kit.patch("ResourceQuota", GUARANTEED, change, vision.namespace)
    with pytest.raises(Conflict, match="moved since"):
        undoing.undo(cluster_id=cluster.pk, run_id=run.pk, actor_id=None, now=world.now)
    hard = specs(world, vision.namespace)[GUARANTEED]["hard"]
    assert hard["requests.nvidia.com/gpu"] == "7"
