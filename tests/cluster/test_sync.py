"""What the last tick decided, written to a real server as our account with just its rights."""

from collections import Counter
from typing import Any

import pytest

from portal.common.models import AuditEvent
from portal.inventory import services as inventory
from portal.inventory.models import Cluster, ClusterMode
from portal.kubernetes import confirming, ports, services
from portal.kubernetes.client import Connection, connect
from portal.kubernetes.models import Drift, SyncRun, SyncState
from portal.kubernetes.port import MANAGER, FieldConflict, Listing, StaleVersion
from portal.kubernetes.real import KubernetesCluster
from tests import builders
from tests.cluster import kubelet
from tests.cluster.kit import wait_for
from tests.cluster.worlds import A100, H100, NVIDIA, Team, World, device_pod, job, refusal

MIG = "nvidia.com/mig-1g.10gb"
KEY = f"requests.{NVIDIA}"
BURST, GUARANTEED, TOTAL = "evenshare-burst-h100", "evenshare-guaranteed-h100", "evenshare-total"


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


@pytest.fixture
def cluster(world: World, vision: Team) -> Cluster:
    """Two pools whose devices have the same name."""
    kubelet.add_node(world.kit, "h100-a", {NVIDIA: 8}, H100)
    kubelet.add_node(world.kit, "a100-a", {NVIDIA: 8}, A100)
    return world.add()


def sync(world: World, cluster: Cluster) -> SyncRun | None:
    """One sync."""
    return services.sync_cluster(cluster_id=cluster.pk, now=world.now)


def hard(world: World, team: Team, quota: str) -> dict[str, str]:
    """What a quota allows."""
    found: dict[str, str] = world.kit.get("ResourceQuota", quota, team.namespace)["spec"]["hard"]
    return found


def settle(world: World, team: Team) -> None:
    """Wait until every quota of the namespace is in force."""
    for found in world.kit.find("ResourceQuota", team.namespace):
        world.settled(team.namespace, found["metadata"]["name"])


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


def test_shrinking_under_running_pods_evicts_nobody_and_gives_their_devices_to_nobody(
    world: World, vision: Team, cluster: Cluster
) -> None:
    speech = world.team("speech")
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 0, 6))
    sync(world, cluster)
    world.settled(vision.namespace, TOTAL)
    world.settled(vision.namespace, BURST)
    pod = device_pod(vision.namespace, "six", devices={NVIDIA: 6}, priorityClassName=BURST)
    world.kit.create(pod, world.tenant)
    kubelet.run(world.kit, vision.namespace, "six")
    wait_for(
        lambda: (
            world.kit.get("ResourceQuota", BURST, vision.namespace)["status"]["used"][KEY] == "6"
        )
    )
    # Now the other team is to have six of the eight to borrow.
    world.decide(cluster, (vision, "h100", 0, 2), (speech, "h100", 0, 6), fence=2)
    sync(world, cluster)
    assert hard(world, vision, BURST) == {KEY: "2"}
    assert hard(world, speech, BURST) == {KEY: "2"}
    settled = world.settled(vision.namespace, BURST)
    assert settled["status"]["used"] == {KEY: "6"}
    assert world.kit.get("Pod", "six", vision.namespace)["status"]["phase"] == "Running"
    kubelet.finish(world.kit, vision.namespace, "six")
    wait_for(
        lambda: (
            world.kit.get("ResourceQuota", BURST, vision.namespace)["status"]["used"][KEY] == "0"
        )
    )
    sync(world, cluster)
    assert hard(world, speech, BURST) == {KEY: "6"}


def test_pools_of_one_resource_are_kept_apart_by_their_classes(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 1, 0), (vision, "a100", 2, 0))
    sync(world, cluster)
    for name in (GUARANTEED, BURST, "evenshare-guaranteed-a100", TOTAL):
        world.settled(vision.namespace, name)
    world.kit.create(device_pod(vision.namespace, "one"), world.tenant)
    said = refusal(world.kit.create, device_pod(vision.namespace, "two"), world.tenant)
    assert f"exceeded quota: {GUARANTEED}" in said
    on_a100 = {
        "priorityClassName": "evenshare-guaranteed-a100",
        "nodeSelector": {"evenshare.io/pool": "a100"},
    }
    world.kit.create(device_pod(vision.namespace, "three", **on_a100), world.tenant)
    assert kubelet.wait_bound(world.kit, vision.namespace, "one") == "h100-a"
    assert kubelet.wait_bound(world.kit, vision.namespace, "three") == "a100-a"


def test_a_guaranteed_pod_evicts_a_borrowed_one(
    world: World, vision: Team, cluster: Cluster
) -> None:
    speech = world.team("speech")
    cluster = world.add()
    world.decide(cluster, (vision, "h100", 0, 8), (speech, "h100", 8, 0))
    sync(world, cluster)
    for team in (vision, speech):
        for name in (GUARANTEED, BURST, TOTAL):
            world.settled(team.namespace, name)
    pod = device_pod(vision.namespace, "guest", devices={NVIDIA: 4}, priorityClassName=BURST)
    world.kit.create(pod, world.tenant)
    kubelet.run(world.kit, vision.namespace, "guest")
    world.kit.create(device_pod(speech.namespace, "owner", devices={NVIDIA: 8}), world.tenant)
    guest = wait_for(
        lambda: next(
            (
                found
                for found in world.kit.find("Pod", vision.namespace)
                if "deletionTimestamp" in found["metadata"]
            ),
            None,
        ),
        "the guest to be asked to go",
    )
    reasons = {c.get("reason") for c in guest["status"]["conditions"]}
    assert "PreemptionByScheduler" in reasons
    world.kit.delete("Pod", "guest", vision.namespace)
    assert kubelet.wait_bound(world.kit, speech.namespace, "owner") == "h100-a"


def test_mig_instances_have_a_quota_of_their_own(world: World, vision: Team) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    kubelet.add_node(world.kit, "mig-a", {MIG: 7}, labels)
    cluster = world.add()
    pool = "a100-sxm4-80gb-mig-1g-10gb"
    assert world.kit.get("Node", "mig-a")["metadata"]["labels"]["evenshare.io/pool"] == pool
    world.decide(cluster, (vision, pool, 2, 0))
    sync(world, cluster)
    guaranteed = f"evenshare-guaranteed-{pool}"
    assert world.settled(vision.namespace, guaranteed)["status"]["hard"] == {f"requests.{MIG}": "2"}
    world.settled(vision.namespace, TOTAL)
    asked = {
        "devices": {MIG: 2},
        "priorityClassName": guaranteed,
        "nodeSelector": {"evenshare.io/pool": pool},
    }
    world.kit.create(device_pod(vision.namespace, "two", **asked), world.tenant)
    assert kubelet.wait_bound(world.kit, vision.namespace, "two") == "mig-a"
    asked = {**asked, "devices": {MIG: 1}}
    said = refusal(world.kit.create, device_pod(vision.namespace, "three", **asked), world.tenant)
    assert "exceeded quota" in said


def test_a_class_whose_value_cannot_change_gets_a_successor_that_works(
    world: World, vision: Team, cluster: Cluster
) -> None:
    old = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
           "metadata": {"name": BURST}, "value": 5, "preemptionPolicy": "Never"}  # fmt: skip
    world.kit.apply(old)
    world.decide(cluster, (vision, "h100", 0, 2))
    run = sync(world, cluster)
    assert run is not None
    assert run.state == SyncState.DONE, run.message
    settle(world, vision)
    for name, klass in (("late", f"{BURST}-v2"), ("early", BURST)):
        pod = device_pod(vision.namespace, name, priorityClassName=klass)
        world.kit.create(pod, world.tenant)
    quota = world.kit.get("ResourceQuota", BURST, vision.namespace)
    assert quota["status"]["used"][KEY] == "2", "the quota counts pods of both classes"
    assert sync(world, cluster) is None


def test_a_namespace_a_team_loses_keeps_no_label_and_no_devices(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 2, 1))
    # The admin's label is ours once we write it.
    world.port().apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": vision.namespace, "labels": {"evenshare.io/team": "vision"}},
        },
        manager=MANAGER,
        force=True,
    )
    world.kit.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": vision.namespace}}
    )
    sync(world, cluster)
    inventory.register_namespace(
        cluster_id=cluster.pk, name=vision.namespace, team_id=None, now=world.now
    )
    sync(world, cluster)
    labels = world.kit.get("Namespace", vision.namespace)["metadata"]["labels"]
    assert "evenshare.io/team" not in labels
    assert set(hard(world, vision, TOTAL).values()) == {"0"}


def test_a_job_over_its_quota_gets_its_pods_once_the_quota_grows(
    world: World, vision: Team, cluster: Cluster
) -> None:
    world.decide(cluster, (vision, "h100", 1, 0))
    sync(world, cluster)
    world.settled(vision.namespace, GUARANTEED)
    world.settled(vision.namespace, TOTAL)
    world.kit.create(job(vision.namespace, "train", tasks=2), world.tenant)
    wait_for(lambda: len(world.kit.find("Pod", vision.namespace)) == 1)
    world.decide(cluster, (vision, "h100", 2, 0), fence=2)
    sync(world, cluster)
    wait_for(lambda: len(world.kit.find("Pod", vision.namespace)) == 2, "the second pod")
