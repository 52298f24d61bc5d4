"""Ray clusters: who is wanted and there, and whether Ray counts the GPUs its pods have."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from portal.kubernetes import raying, services
from portal.kubernetes.models import RayGroup
from portal.kubernetes.port import Listing
from portal.kubernetes.raying import SeenGroup
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests import builders
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START

GPU = "nvidia.com/gpu"


def a_template(gpus: int, resource: str = GPU) -> dict[str, Any]:
    """A pod of so many devices."""
    limits = {resource: str(gpus)} if gpus else {}
    return {"spec": {"containers": [{"name": "ray", "resources": {"limits": limits}}]}}


def a_group(gpus: int, replicas: int = 2, told: str = "", **more: Any) -> dict[str, Any]:
    """A worker group."""
    params = {"num-gpus": told} if told else {}
    return {
        "groupName": "gpu", "replicas": replicas, "minReplicas": 0, "maxReplicas": 9,
        "rayStartParams": params, "template": a_template(gpus), **more,
    }  # fmt: skip


def a_cluster(*groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A Ray cluster with a head without GPUs."""
    return {
        "kind": "RayCluster", "apiVersion": "ray.io/v1",
        "metadata": {
            "name": "train", "namespace": "vision", "uid": "r-1", "resourceVersion": "1",
            "creationTimestamp": "2026-11-02T00:00:00Z",
        },
        "spec": {
            "headGroupSpec": {"rayStartParams": {}, "template": a_template(0)},
            "workerGroupSpecs": list(groups), **spec,
        },
    }  # fmt: skip


def a_pod(gpus: int, args: str = "", ready: bool = True, name: str = "w") -> dict[str, Any]:
    """A worker of the group, started with these arguments."""
    spec = a_template(gpus)["spec"]
    if args:
        spec["containers"][0]["args"] = [args]
    status = "True" if ready else "False"
    return {
        "metadata": {
            "name": name, "namespace": "vision", "uid": name,
            "labels": {"ray.io/cluster": "train", "ray.io/group": "gpu",
                       "ray.io/node-type": "worker"},
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]},
    }  # fmt: skip


def figures(owner: dict[str, Any], *pods: dict[str, Any]) -> tuple[int, int, int, int]:
    """Wanted, there, devices of a pod, and what Ray has of them, of the one group."""
    (group,) = raying.groups([owner], pods)
    return group.desired, group.available, group.pod_gpus, group.ray_gpus


def test_wanted_workers_are_told_from_those_that_are_ready() -> None:
    owner = a_cluster(a_group(4, replicas=3))
    assert figures(owner, a_pod(4), a_pod(4, ready=False, name="w2")) == (3, 1, 4, 4)


@pytest.mark.parametrize(
    ("group", "found"),
    [
        (a_group(4), (2, 0, 4, 4)),
        (a_group(4, told="4"), (2, 0, 4, 4)),
        (a_group(4, told="8"), (2, 0, 4, 8)),
        (a_group(0, told="1"), (2, 0, 0, 1)),
        (a_group(2, numOfHosts=4), (8, 0, 2, 2)),
        (a_group(2, suspend=True), (0, 0, 2, 2)),
        # Ray's operator counts only what ends in "gpu": an instance is not seen.
        ({**a_group(1), "template": a_template(1, "nvidia.com/mig-1g.10gb")}, (2, 0, 1, 0)),
    ],
)
def test_before_there_are_pods_the_description_tells(
    group: dict[str, Any], found: tuple[int, int, int, int]
) -> None:
    assert figures(a_cluster(group)) == found


def test_a_pod_tells_better_what_ray_was_started_with() -> None:
    owner = a_cluster(a_group(8))
    old = a_pod(4, "ray start --address=head:6379 --num-gpus=8 --block", name="old")
    assert figures(owner, a_pod(8, "ray start --num-gpus=8"), old) == (2, 2, 4, 8)


def test_a_suspended_cluster_wants_nothing() -> None:
    assert figures(a_cluster(a_group(4), suspend=True))[0] == 0


def test_groups_without_devices_are_nobodys_business() -> None:
    assert raying.groups([a_cluster(a_group(0))], []) == []


def a_sight(available: int = 1, ray_gpus: int = 4) -> SeenGroup:
    """The group as seen."""
    return SeenGroup("r-1", "vision", "train", "gpu", 2, available, 4, ray_gpus)


@pytest.mark.django_db
def test_rows_follow_what_is_seen_and_a_repeat_changes_nothing() -> None:
    cluster = builders.a_cluster()

    def follow(*seen: SeenGroup, minute: int, **more: Any) -> int:
        at = START + timedelta(minutes=minute)
        return raying.follow(cluster_id=cluster.pk, seen=seen, now=at, **more)

    assert follow(a_sight(), minute=0) == 1
    assert follow(a_sight(), minute=1) == 0
    assert follow(a_sight(ray_gpus=8), minute=2) == 1
    row = RayGroup.objects.get()
    assert (row.ray_gpus, row.since) == (8, START + timedelta(minutes=2))
    assert follow(minute=3, of_uids=["another"]) == 0
    assert follow(minute=4) == 1
    assert not RayGroup.objects.exists()


@pytest.mark.django_db
def test_a_look_at_a_cluster_brings_its_ray_groups(folder: Path) -> None:
    cluster, port = world.a_registered(folder, world.a_plan())
    owners = port.owners()
    shown = Listing((*owners.items, a_cluster(a_group(4, told="8"))), owners.version)
    with mock.patch.object(SimulatedCluster, "owners", return_value=shown):
        services.collect(cluster_id=cluster.pk, now=START)
    row = RayGroup.objects.get()
    assert (row.name, row.group, row.pod_gpus, row.ray_gpus) == ("train", "gpu", 4, 8)
    services.collect(cluster_id=cluster.pk, now=START + timedelta(minutes=1))
    assert not RayGroup.objects.exists()


def test_a_pod_whose_command_nobody_keeps_was_started_as_its_group_is_described() -> None:
    assert figures(a_cluster(a_group(4, told="8")), a_pod(4)) == (2, 1, 4, 8)
    assert figures(a_cluster(a_group(4)), a_pod(4)) == (2, 1, 4, 4)
