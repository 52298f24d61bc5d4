"""What a real server makes of what was written: who runs, who waits, who is evicted."""

from portal.inventory import services as inventory
from portal.inventory.models import Cluster
from portal.kubernetes.models import SyncState
from portal.kubernetes.port import MANAGER
from tests.cluster import kubelet
from tests.cluster.kit import wait_for
from tests.cluster.synced import BURST, GUARANTEED, KEY, MIG, TOTAL, hard, settle, sync
from tests.cluster.worlds import NVIDIA, Team, World, device_pod, job, refusal


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
