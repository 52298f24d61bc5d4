"""What the last tick decided, written to a real server as our account with just its rights."""

from collections import Counter
from typing import Any

import pytest

from portal.common.models import AuditEvent
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import confirming, ports, services
from portal.kubernetes.client import Connection, connect
from portal.kubernetes.models import Drift, SyncState
from portal.kubernetes.port import MANAGER, FieldConflict, Listing, StaleVersion
from portal.kubernetes.real import KubernetesCluster
from tests import builders
from tests.cluster import kubelet
from tests.cluster.synced import BURST, GUARANTEED, KEY, MIG, TOTAL, hard, settle, sync
from tests.cluster.worlds import NVIDIA, Team, World


class Counted(Connection):
    """A way to the cluster that counts what goes over it."""

    counts: Counter[str] = Counter()

    def ask(self, method: str, *arguments: Any, **more: Any) -> dict[str, Any]:
        # To ask what our account may do is a POST that writes nothing.
        is_question = str(arguments[0]).endswith("/selfsubjectaccessreviews")
        self.counts["question" if is_question else method] += 1
        return super().ask(method, *arguments, **more)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Requests by method, of every port opened in the test."""
    Counted.counts = Counter()

    def opener(cluster: Cluster, _now: object) -> KubernetesCluster:
        way = connect(cluster.settings)
        return KubernetesCluster(Counted(way._api))

    monkeypatch.setitem(ports.OPENERS, "kubernetes", opener)
    return Counted.counts


def test_a_sync_writes_classes_and_quotas_and_the_server_takes_them_up(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1), (vision, "a100", 1, 0))
    run = sync(world, cluster)
    assert run is not None
    assert (run.state, run.message) == (SyncState.DONE, "")
    # Two classes a pool; the namespace has its label; two quotas a pool and one over all.
    assert run.writes == 4 + 0 + 5
    assert world.settled(vision.namespace, GUARANTEED)["status"]["hard"] == {KEY: "2"}
    assert world.settled(vision.namespace, "evenshare-guaranteed-a100")["status"]["hard"] == {
        KEY: "1"
    }
    assert world.settled(vision.namespace, TOTAL)["status"]["hard"] == {KEY: "4"}
    guaranteed = world.kit.get("PriorityClass", GUARANTEED)
    burst = world.kit.get("PriorityClass", BURST)
    assert guaranteed["value"] > burst["value"] >= 0
    assert burst["preemptionPolicy"] == "Never"


def test_a_sync_with_nothing_to_change_sends_no_write(
    world: World, vision: Team, cluster: Cluster, counts: Counter[str]
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    assert sync(world, cluster) is not None
    world.settled(vision.namespace, TOTAL)
    counts.clear()
    assert sync(world, cluster) is None
    assert counts["GET"] > 0
    assert set(counts) == {"GET"}


def test_a_dry_run_sends_no_write_and_says_what_it_would(
    world: World, vision: Team, cluster: Cluster, counts: Counter[str]
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    difference = services.dry_run(cluster_id=cluster.pk, now=world.now)
    assert set(counts) == {"GET"}
    named = {(write.kind, write.name) for write in difference.writes}
    assert ("ResourceQuota", TOTAL) in named
    assert ("PriorityClass", GUARANTEED) in named


def test_a_cluster_in_observe_mode_is_never_written(
    world: World, vision: Team, counts: Counter[str]
) -> None:
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, {"nvidia.com/gpu.product": "H100"})
    cluster = world.add(ClusterMode.OBSERVE)
    world.decide(cluster, (vision, "h100", 2, 1))
    assert sync(world, cluster) is None
    assert set(counts) == {"GET", "question"}
    assert "evenshare.io/pool" not in world.kit.get("Node", "h100-a")["metadata"]["labels"]


def test_every_write_carries_its_fence_and_the_version_it_was_made_for(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1), fence=7)
    sync(world, cluster)
    found = world.kit.get("ResourceQuota", TOTAL, vision.namespace)
    assert found["metadata"]["annotations"]["evenshare.io/fence"] == "7"


def test_a_writer_that_was_paused_loses(world: World, vision: Team, cluster: Cluster) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    paused = world.port()
    old = next(q for q in paused.quotas().items if q["metadata"]["name"] == GUARANTEED)
    world.decide(cluster, (vision, "h100", 4, 1), fence=2)
    sync(world, cluster)
    stale = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": GUARANTEED, "namespace": vision.namespace},
        "spec": {**old["spec"], "hard": {KEY: "2"}},
    }
    with pytest.raises(StaleVersion):
        paused.apply(
            stale, manager=MANAGER, fence=1, resource_version=old["metadata"]["resourceVersion"]
        )
    assert hard(world, vision, GUARANTEED) == {KEY: "4"}


def test_a_paused_writer_loses_also_against_a_deletion(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    paused = world.port()
    old = next(q for q in paused.quotas().items if q["metadata"]["name"] == GUARANTEED)
    world.kit.delete("ResourceQuota", GUARANTEED, vision.namespace)
    stale = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": GUARANTEED, "namespace": vision.namespace},
        "spec": old["spec"],
    }
    with pytest.raises(StaleVersion):
        paused.apply(stale, manager=MANAGER, resource_version=old["metadata"]["resourceVersion"])


def test_a_deleted_quota_comes_back(world: World, vision: Team, cluster: Cluster) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    world.kit.delete("ResourceQuota", TOTAL, vision.namespace)
    run = sync(world, cluster)
    assert run is not None
    assert [(c.name, c.was) for c in run.changes.all()] == [(TOTAL, None)]


def test_somebody_elses_field_is_left_alone_shown_and_can_be_taken_over(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    settle(world, vision)
    taken = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": GUARANTEED, "namespace": vision.namespace},
        "spec": {"hard": {KEY: "6"}},
    }
    world.kit.apply(taken, manager="argocd")
    assert sync(world, cluster) is None
    drift = Drift.objects.get(closed_at=None)
    assert (drift.field, drift.wanted, drift.found, drift.manager) == (
        f"spec.hard[{KEY}]", "2", "6", "argocd",
    )  # fmt: skip
    ours = {**taken, "spec": {"hard": {KEY: "2"}}}
    with pytest.raises(FieldConflict) as conflict:
        world.port().apply(ours, manager=MANAGER)
    assert conflict.value.owners == {f"spec.hard.{KEY}": "argocd"}
    services.take_over(drift_id=drift.pk, actor_id=builders.a_user().pk, now=world.now)
    assert hard(world, vision, GUARANTEED)[KEY] == "2"
    assert not Drift.objects.filter(closed_at=None).exists()
    assert AuditEvent.objects.filter(action="kubernetes.taken_over").count() == 1


def test_a_quota_the_server_has_not_taken_up_is_shown_until_it_has(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    settle(world, vision)
    # As if the quota controller were asleep: what is in force is not what is written.
    asleep = {"status": {"hard": {KEY: "1", f"requests.{MIG}": "0"}}}
    world.kit.patch("ResourceQuota", GUARANTEED, asleep, vision.namespace, part="status")
    found = world.kit.get("ResourceQuota", GUARANTEED, vision.namespace)
    late = confirming.not_in_force(Listing((found,), "1"), (), fence=2)
    assert [(d.field, d.wanted, d.found, d.manager) for d in late] == [
        (f"status.hard[{KEY}]", "2", "1", "")
    ]
    awake = {"status": {"hard": found["spec"]["hard"]}}
    found = world.kit.patch("ResourceQuota", GUARANTEED, awake, vision.namespace, part="status")
    assert not list(confirming.not_in_force(Listing((found,), "1"), (), fence=2))


def test_a_policy_that_is_missing_is_shown_until_it_stands(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    settle(world, vision)
    binding = world.kit.get("ValidatingAdmissionPolicyBinding", "evenshare-claims")
    world.kit.delete("ValidatingAdmissionPolicyBinding", "evenshare-claims")
    try:
        sync(world, cluster)
        drift = Drift.objects.get(closed_at=None)
        assert (drift.kind, drift.name) == ("ValidatingAdmissionPolicy", "evenshare-claims")
    finally:
        metadata = {"name": "evenshare-claims"}
        world.kit.apply({**binding, "metadata": metadata})
    sync(world, cluster)
    assert not Drift.objects.filter(closed_at=None).exists()


def test_a_node_that_joins_later_gets_its_pools_label(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    sync(world, cluster)
    product = {"nvidia.com/gpu.product": "NVIDIA-L40S"}
    kubelet.add_node(world.kit, "l40s-a", {NVIDIA: 4}, product)
    world.add()  # the new pool is taken over, its first node labelled
    kubelet.add_node(world.kit, "l40s-b", {NVIDIA: 4}, product)
    run = sync(world, cluster)
    assert run is not None
    assert ("Node", "l40s-b", "l40s") in [(c.kind, c.name, c.now) for c in run.changes.all()]
    assert world.kit.get("Node", "l40s-b")["metadata"]["labels"]["evenshare.io/pool"] == "l40s"
