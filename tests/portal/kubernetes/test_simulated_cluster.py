"""The simulated cluster is no yes-man: it refuses, places, evicts and loses nodes by itself."""

from pathlib import Path

import pytest

from portal.kubernetes import manifests
from portal.kubernetes.port import MANAGER, FieldConflict, NotFound, Refused, StaleVersion
from portal.kubernetes.simulated import building
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes import world
from tests.portal.kubernetes.world import START, minutes


@pytest.fixture
def port(folder: Path) -> SimulatedCluster:
    return world.a_port(folder)


def test_a_job_is_placed_pulls_its_image_runs_and_ends_to_the_second(
    port: SimulatedCluster,
) -> None:
    world.allow(port, "vision", guaranteed=8, burst=0)
    port.submit(world.a_spec("train", gpus=2, work=600, start_delay=90))

    port.advance(START + minutes(1))
    assert world.phase(port, "train") == "Pending"
    port.advance(START + minutes(2))
    assert world.phase(port, "train") == "Running"
    port.advance(START + minutes(12))
    assert world.phase(port, "train") == "Succeeded"
    (entry,) = port.books()
    assert (len(entry.devices), entry.to_s - entry.from_s) == (2, 90 + 600)


def test_a_job_above_its_quota_gets_no_pod_and_the_owner_is_told_why(
    port: SimulatedCluster,
) -> None:
    world.allow(port, "vision", guaranteed=2, burst=3)
    port.submit(world.a_spec("wide", gpus=4))
    port.advance(START + minutes(5))

    assert world.pods_of(port, "wide") == []
    (event,) = port.events().items
    assert event["reason"] == "FailedCreate"
    assert event["message"] == (
        'Error creating: pods "wide" is forbidden: exceeded quota: evenshare-burst-a100, '
        "requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=0, "
        "limited: requests.nvidia.com/gpu=3"
    )


def test_a_refused_job_is_tried_again_once_the_quota_grows(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=0, burst=0)
    port.submit(world.a_spec("later", gpus=4))
    port.advance(START + minutes(5))
    world.allow(port, "vision", guaranteed=0, burst=4)
    port.advance(START + minutes(6))

    assert world.phase(port, "later") == "Running"
    assert port.events().items == ()


def test_the_total_binds_though_each_class_has_room(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=4, burst=4)
    total = manifests.quotas("vision", {}, (), [world.GPU])[-1]
    port.apply(
        {**total, "spec": {"hard": {"requests.nvidia.com/gpu": "5"}}}, manager=MANAGER, force=True
    )
    port.submit(world.a_spec("one", gpus=4))
    port.submit(world.a_spec("two", gpus=4))
    port.advance(START + minutes(1))

    assert world.phase(port, "one") == "Running"
    assert "evenshare-total" in port.events().items[0]["message"]


def test_without_our_classes_nothing_is_let_in(folder: Path) -> None:
    building.create(folder / "bare.cluster", world.a_plan())
    port = SimulatedCluster(folder / "bare.cluster")
    port.submit(world.a_spec("train"))
    port.advance(START + minutes(1))

    assert "no PriorityClass with name evenshare-burst-a100" in port.events().items[0]["message"]


def test_pods_spread_over_the_nodes_of_their_pool(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=8, burst=0)
    for name in ("a", "b", "c", "d"):
        port.submit(world.a_spec(name, gpus=2))
    port.advance(START + minutes(1))

    nodes = sorted(entry.node for entry in port.books())
    assert nodes == ["big-0", "big-0", "big-1", "big-1"]


def test_work_within_the_guarantee_evicts_borrowed_work_which_comes_back(
    port: SimulatedCluster,
) -> None:
    world.allow(port, "speech", guaranteed=0, burst=16)
    world.allow(port, "vision", guaranteed=8, burst=0)
    for name in ("first", "second"):
        port.submit(world.a_spec(name, gpus=8, work=7200, namespace="speech"))
    port.advance(START + minutes(10))
    port.submit(world.a_spec("ours", gpus=8, work=600))
    port.advance(START + minutes(12))

    assert world.phase(port, "ours") == "Running"
    evicted = "second" if world.phase(port, "first") == "Running" else "first"
    (waiting,) = world.pods_of(port, evicted)
    assert waiting["status"]["phase"] == "Pending"
    assert "3 Insufficient" not in waiting["status"]["conditions"][0]["message"]
    assert "2 Insufficient nvidia.com/gpu" in waiting["status"]["conditions"][0]["message"]
    port.advance(START + minutes(30))
    assert world.phase(port, evicted) == "Running"


def test_borrowed_work_evicts_nobody(port: SimulatedCluster) -> None:
    world.allow(port, "speech", guaranteed=0, burst=16)
    world.allow(port, "vision", guaranteed=0, burst=16)
    for name in ("first", "second"):
        port.submit(world.a_spec(name, gpus=8, namespace="speech"))
    port.advance(START + minutes(1))
    port.submit(world.a_spec("late", gpus=1))
    port.advance(START + minutes(5))

    assert [world.phase(port, name) for name in ("first", "second", "late")] == [
        "Running", "Running", "Pending"
    ]  # fmt: skip


def test_a_gang_starts_whole_or_waits(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=0, burst=16)
    port.submit(world.a_spec("small", gpus=1, work=600))
    port.submit(world.a_spec("gang", gpus=8, tasks=2, work=600))
    port.advance(START + minutes(5))
    assert [p["status"]["phase"] for p in world.pods_of(port, "gang")] == []
    port.advance(START + minutes(12))
    assert [p["status"]["phase"] for p in world.pods_of(port, "gang")] == ["Running", "Running"]


def test_saved_work_is_not_done_twice_after_an_eviction(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=8, burst=0)
    spec = world.a_spec("saves", gpus=8, work=3600, save_every=600, save_seconds=20)
    port.submit(spec)
    port.advance(START + minutes(30))
    (pod,) = world.pods_of(port, "saves")
    port.evict("vision", pod["metadata"]["name"])
    port.advance(START + minutes(62))

    # 30 minutes done and saved on the way out; gone after 30 s, back 10 s later, 30 minutes left.
    assert sum(entry.to_s - entry.from_s for entry in port.books()) == 3600 + 30


def test_a_lost_node_takes_its_pods_and_the_job_starts_anew_elsewhere(
    port: SimulatedCluster,
) -> None:
    world.allow(port, "vision", guaranteed=8, burst=0)
    port.submit(world.a_spec("train", gpus=2, work=3600))
    port.advance(START + minutes(20))
    before = world.pods_of(port, "train")[0]["spec"]["nodeName"]
    port.lose(before)
    port.advance(START + minutes(21))

    (pod,) = world.pods_of(port, "train")
    assert pod["spec"]["nodeName"] != before
    first, second = port.books()
    assert (first.node, first.to_s - first.from_s) == (before, 20 * 60)
    assert second.node != before


def test_a_cordoned_node_keeps_its_pods_and_takes_no_new_ones(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=16, burst=0)
    port.submit(world.a_spec("old", gpus=2))
    port.advance(START + minutes(1))
    node = world.pods_of(port, "old")[0]["spec"]["nodeName"]
    port.cordon(node)
    for number in range(6):
        port.submit(world.a_spec(f"new-{number}", gpus=1))
    port.advance(START + minutes(2))

    assert world.phase(port, "old") == "Running"
    assert {e.node for e in port.books() if len(e.devices) == 1} == {"big-0", "big-1"} - {node}


def test_an_impatient_person_hands_in_again_when_the_guarantee_has_room(
    port: SimulatedCluster,
) -> None:
    world.allow(port, "vision", guaranteed=4, burst=0)
    port.submit(world.a_spec("first", gpus=4, work=600))
    port.submit(world.a_spec("second", gpus=4, work=600, patience=1200))
    port.advance(START + minutes(19))
    assert world.phase(port, "second") == ""
    port.advance(START + minutes(21))

    (pod,) = world.pods_of(port, "second")
    assert pod["spec"]["priorityClassName"] == "evenshare-guaranteed-a100"


# -- writing, as a server ----------------------------------------------------------------------------


def test_a_write_made_for_an_older_version_loses(port: SimulatedCluster) -> None:
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    first = port.apply(quota, manager=MANAGER, fence=7)
    version = first["metadata"]["resourceVersion"]
    grown = {**quota, "spec": {**quota["spec"], "hard": {"requests.nvidia.com/gpu": "2"}}}
    second = port.apply(grown, manager=MANAGER, fence=7, resource_version=version)

    assert second["metadata"]["annotations"] == {"evenshare.io/fence": "7"}
    assert second["metadata"]["resourceVersion"] != version
    with pytest.raises(StaleVersion, match="the object has been modified"):
        port.apply(quota, manager=MANAGER, fence=7, resource_version=version)


def test_a_field_of_another_manager_is_not_taken_without_force(port: SimulatedCluster) -> None:
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    port.apply(quota, manager=MANAGER)
    hostile = {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "99"}}}
    port.apply(hostile, manager="kubectl", force=True)

    with pytest.raises(FieldConflict) as caught:
        port.apply(quota, manager=MANAGER)
    assert caught.value.owners == {"spec.hard.requests.nvidia.com/gpu": "kubectl"}
    port.apply(quota, manager=MANAGER, force=True)
    (item,) = port.quotas().items
    assert item["spec"]["hard"] == {"requests.nvidia.com/gpu": "0"}


def test_a_field_left_out_is_removed_and_a_repeat_changes_no_version(
    port: SimulatedCluster,
) -> None:
    labelled = manifests.namespace("vision", "vision")
    first = port.apply(labelled, manager=MANAGER)
    again = port.apply(labelled, manager=MANAGER)
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    bare = port.apply(manifests.namespace("vision", None), manager=MANAGER)
    assert bare["metadata"]["labels"] == {"kubernetes.io/metadata.name": "vision"}


def test_a_dry_run_leaves_no_trace(port: SimulatedCluster) -> None:
    before = port.quotas().version
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    port.apply(quota, manager=MANAGER, dry_run=True)
    assert port.quotas().items == ()
    assert port.quotas().version == before


def test_what_a_server_refuses_is_refused(port: SimulatedCluster) -> None:
    changed = {**manifests.priority_classes(world.POOLS)[0], "value": 5}
    with pytest.raises(Refused, match="may not be changed"):
        port.apply(changed, manager=MANAGER)
    with pytest.raises(NotFound):
        port.apply(manifests.quotas("nowhere", {}, world.POOLS, [])[0], manager=MANAGER)
    half = manifests.quotas("vision", {}, world.POOLS, [])[0]
    half["spec"]["hard"] = {"requests.nvidia.com/gpu": "1.5"}
    with pytest.raises(Refused, match="must be an integer"):
        port.apply(half, manager=MANAGER)


def test_what_was_deleted_is_told_to_whoever_saw_it_before(port: SimulatedCluster) -> None:
    world.allow(port, "vision", guaranteed=8, burst=0)
    port.submit(world.a_spec("short", work=60))
    port.advance(START + minutes(0.5))
    seen = port.pods().version
    port.advance(START + minutes(60))

    assert port.pods().items == ()
    (pod,) = port.pods(since=seen).deleted
    finished = pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    assert finished == "2026-11-02T00:01:00Z"
