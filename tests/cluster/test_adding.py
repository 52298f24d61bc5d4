"""Taking a real cluster into the portal's care, as our account."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from portal.inventory.models import Cluster, ClusterMode, NamespaceOwner, Node, Pool, Sharing
from portal.quotas.models import Quota
from tests.cluster import kubelet
from tests.cluster.worlds import H100, NVIDIA, Team, World

MIG = "nvidia.com/mig-1g.10gb"
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
SHARED = {
    "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.sharing-strategy": "time-slicing",
    "nvidia.com/gpu.replicas": "4",
}  # fmt: skip


def add(world: World, *arguments: str) -> list[str]:
    """What the command prints."""
    out = StringIO()
    call_command("add_cluster", "real", f"--kubeconfig={world.account}", *arguments, stdout=out)
    return out.getvalue().splitlines()


def run(name: str, *arguments: str, **more: Any) -> str:
    """What another command prints."""
    out = StringIO()
    call_command(name, *arguments, stdout=out, stderr=StringIO(), **more)
    return out.getvalue()


def test_nodes_become_pools_by_label_product_sharing_and_mig_profile(world: World) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, H100)
    kubelet.add_node(world.kit, "b", {NVIDIA: 8}, A100)
    kubelet.add_node(world.kit, "c", {MIG: 14}, A100)
    kubelet.add_node(world.kit, "d", {NVIDIA: 16}, SHARED)
    kubelet.add_node(world.kit, "e", {}, {})
    cluster = world.add()
    pools = {pool.name: pool for pool in Pool.objects.filter(cluster=cluster)}
    assert {name: (p.resource_name, p.sharing) for name, p in pools.items()} == {
        "h100": (NVIDIA, Sharing.DEDICATED),
        "a100-sxm4-80gb": (NVIDIA, Sharing.DEDICATED),
        "a100-sxm4-80gb-mig-1g-10gb": (MIG, Sharing.MIG),
        "tesla-t4-shared": (NVIDIA, Sharing.SHARED),
    }
    assert pools["tesla-t4-shared"].gpu_equivalent_milli == 250
    assert pools["a100-sxm4-80gb"].gpu_model.memory_mib == 81920
    gpus = dict(Node.objects.values_list("name", "gpus"))
    assert gpus == {"a": 8, "b": 8, "c": 14, "d": 16}
    labels = {n["metadata"]["name"]: n["metadata"]["labels"] for n in world.kit.find("Node")}
    assert labels["c"]["evenshare.io/pool"] == "a100-sxm4-80gb-mig-1g-10gb"
    assert "evenshare.io/pool" not in labels["e"]


def test_namespaces_become_their_teams_and_a_stranger_is_named(world: World, vision: Team) -> None:
    world.namespace("of-nobody", "ghosts")
    said = add(world, "--mode=quota")
    assert f"Namespace {vision.namespace} team: – → vision" in said
    assert any("labelled for the team ghosts, which does not exist" in line for line in said)
    owner = NamespaceOwner.objects.get()
    assert (owner.namespace.name, owner.team.slug) == (vision.namespace, "vision")


def test_quotas_that_are_there_are_proposed_and_adopted_when_told(
    world: World, vision: Team
) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, H100)
    for name, hard in (("gpus", {f"requests.{NVIDIA}": "5"}), ("idle", {NVIDIA: "9"})):
        metadata = {"name": name, "namespace": vision.namespace}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
        world.kit.apply({**quota, "spec": {"hard": hard}})
    said = add(world, "--mode=quota")
    assert "Quota vision in h100 guaranteed (proposed): – → 5" in said
    assert any("the key nvidia.com/gpu enforces nothing" in line for line in said)
    assert not Quota.objects.exists()
    said = add(world, "--mode=quota", "--adopt-quotas")
    assert "Quota vision in h100 guaranteed: – → 5" in said
    assert Quota.objects.get().guaranteed == 5


def test_adding_twice_changes_nothing_the_second_time(world: World, vision: Team) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, A100)
    assert add(world, "--mode=quota") != ["real: nothing new"]
    assert add(world, "--mode=quota") == ["real: nothing new"]
    assert add(world, "--mode=observe") == ["Cluster real mode: quota → observe"]


def test_a_dry_run_prints_the_same_and_writes_nothing(world: World, vision: Team) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, A100)
    said = add(world, "--mode=quota", "--dry-run")
    assert not Cluster.objects.exists()
    assert "evenshare.io/pool" not in world.kit.get("Node", "a")["metadata"]["labels"]
    assert add(world, "--mode=quota") == said


def test_observe_mode_needs_no_label_to_tell_pools_apart(world: World) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, A100)
    world.add(ClusterMode.OBSERVE)
    run("collect")
    assert Node.objects.get(removed_at=None).pool.name == "a100-sxm4-80gb"
    assert "evenshare.io/pool" not in world.kit.get("Node", "a")["metadata"]["labels"]


def test_one_cycle_from_the_command_line(world: World, vision: Team) -> None:
    kubelet.add_node(world.kit, "a", {NVIDIA: 8}, H100)
    add(world, "--mode=quota")
    assert "1 new" not in run("collect")
    assert "pool h100: 8 devices" in run("collect", "--dry-run")
    assert "0 start" in run("tick")
    assert "0 start" in run("tick", "--dry-run")
    rehearsed = run("sync", "--dry-run")
    line = f"ResourceQuota {vision.namespace}/evenshare-total spec.hard[requests.{NVIDIA}]: – → 0"
    assert line in rehearsed
    assert line in run("sync")
    assert "nothing to write" in run("sync")
    assert "nothing to write" in run("sync", "--dry-run")


def test_a_cluster_that_cannot_be_served_ends_the_command_with_a_failure(world: World) -> None:
    cluster = world.add()
    Cluster.objects.filter(pk=cluster.pk).update(settings={"kubeconfig": "/nowhere"})
    for name in ("collect", "sync", "tick"):
        if name == "sync":
            world.decide(cluster)
        with pytest.raises(CommandError, match="could not be served: real"):
            run(name, "--cluster=real")
    with pytest.raises(CommandError, match="there is no cluster moon"):
        run("collect", "--cluster=moon")


def test_a_mode_that_the_account_has_no_rights_for_is_refused_and_changes_nothing(
    world: World, vision: Team
) -> None:
    kubelet.add_node(world.kit, "plain", {NVIDIA: 8}, {"nvidia.com/gpu.product": "H100"})
    add(world)
    role = world.kit.get("ClusterRoleBinding", "evenshare-quota")
    world.kit.delete("ClusterRoleBinding", "evenshare-quota")
    try:
        with pytest.raises(CommandError, match=r"may not create resourcequotas, .*patch nodes"):
            add(world, "--mode=quota")
        said = add(world, "--mode=quota", "--dry-run")
        assert "Apply deploy/kubernetes/quota." in said[-1]
        assert Cluster.objects.get().mode == ClusterMode.OBSERVE
        assert "evenshare.io/pool" not in world.kit.get("Node", "plain")["metadata"]["labels"]
    finally:
        world.kit.apply({**role, "metadata": {"name": "evenshare-quota"}})
