"""What each namespace may hold, summed over a team's namespaces and over pools of one resource."""

from pathlib import Path

import pytest

from portal.inventory import services as inventory
from portal.inventory.models import Cluster
from portal.kubernetes import services
from portal.kubernetes.simulated.cluster import SimulatedCluster
from portal.scheduling.models import Share, Tick
from portal.teams.models import Team
from tests.portal.kubernetes import world
from tests.portal.kubernetes.test_syncing import a_tick, hard
from tests.portal.kubernetes.world import START, minutes

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    return world.a_registered(folder, world.a_plan())[0]


@pytest.fixture
def port(cluster: Cluster) -> SimulatedCluster:
    return world.reopened(cluster)


def sync(cluster: Cluster, minute: float) -> None:
    """One sync that writes."""
    run = services.sync_cluster(cluster_id=cluster.pk, now=START + minutes(minute))
    assert run is not None
    assert run.message == ""


def a_share(tick: Tick, team: str, pool: str, milli: int, guaranteed: int, burst: int) -> Share:
    """A team's part of a pool: its fair share in milli-GPU, and whole GPUs by class."""
    return Share.objects.create(
        tick=tick, team=Team.objects.get(slug=team), guaranteed=1000 * guaranteed, reserved=0,
        pool=world.pool_of(tick.cluster, pool), fair_share=milli, allocated=0, borrowed=0, lent=0,
        available=0, dominant_share=0, satisfaction=0, guaranteed_gpus=guaranteed, burst_gpus=burst,
    )  # fmt: skip


def give_vision_both_namespaces(cluster: Cluster) -> None:
    """The team vision has two."""
    vision = Team.objects.get(slug="vision")
    inventory.register_namespace(
        cluster_id=cluster.pk, name="speech", team_id=vision.pk, now=START + minutes(0.5)
    )


def test_pools_of_one_resource_add_up_in_a_namespace_and_each_class_keeps_to_its_pool(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    a_tick(cluster, 1, a100=(6, 4), t4=(2, 1))
    sync(cluster, 1)
    found = hard(port, "vision")
    assert found == {
        "evenshare-guaranteed-a100": "6", "evenshare-burst-a100": "10",
        "evenshare-guaranteed-t4": "2", "evenshare-burst-t4": "3",
        # 6 + 4 of one and 2 + 1 of the other; each class alone lets in no more than its pool's.
        "evenshare-total": "13",
    }  # fmt: skip


def test_pools_of_one_resource_add_up_over_the_namespaces_of_a_team(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    give_vision_both_namespaces(cluster)
    a_tick(cluster, 1, a100=(7, 4), t4=(2, 1))
    sync(cluster, 1)
    both = [hard(port, name) for name in ("vision", "speech")]
    sums = {name: sum(int(found[name]) for found in both) for name in both[0]}
    assert sums == {
        "evenshare-guaranteed-a100": 7, "evenshare-burst-a100": 11,
        "evenshare-guaranteed-t4": 2, "evenshare-burst-t4": 3,
        "evenshare-total": 14,
    }  # fmt: skip
    for found in both:
        promised = sum(int(found[f"evenshare-guaranteed-{pool}"]) for pool in ("a100", "t4"))
        assert promised <= int(found["evenshare-total"])


def test_a_job_that_waits_in_one_of_two_namespaces_gets_the_room_it_needs(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    give_vision_both_namespaces(cluster)
    port.submit(world.a_spec("big", gpus=8, namespace="speech"))
    services.collect(cluster_id=cluster.pk, now=START + minutes(1))
    a_tick(cluster, 1, a100=(8, 0))
    sync(cluster, 1)
    assert hard(port, "speech")["evenshare-guaranteed-a100"] == "8"
    assert hard(port, "speech")["evenshare-total"] == "8"
    assert hard(port, "vision")["evenshare-total"] == "0"


def test_a_part_of_a_device_is_a_whole_one_in_each_pool(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    tick = a_tick(cluster, 1)
    a_share(tick, "vision", "a100", 2500, guaranteed=2, burst=1)
    a_share(tick, "vision", "t4", 500, guaranteed=0, burst=1)
    sync(cluster, 1)
    assert hard(port, "vision")["evenshare-total"] == str(3 + 1)


def test_a_team_that_uses_none_of_its_guarantee_leaves_all_of_it_to_who_borrows(
    cluster: Cluster, port: SimulatedCluster
) -> None:
    tick = a_tick(cluster, 1, a100=(16, 0))
    a_share(tick, "speech", "a100", 16_000, guaranteed=0, burst=16)
    sync(cluster, 1)
    assert hard(port, "vision")["evenshare-guaranteed-a100"] == "16"
    assert hard(port, "vision")["evenshare-burst-a100"] == "0"
    assert hard(port, "speech")["evenshare-burst-a100"] == "16"
