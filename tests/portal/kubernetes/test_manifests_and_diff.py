"""What is wanted, and how it differs from what is there."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from portal.kubernetes import diff, manifests
from portal.kubernetes.manifests import PoolShape, Target
from portal.kubernetes.port import MANAGER, Manifest
from portal.kubernetes.simulated import building
from portal.kubernetes.simulated.cluster import SimulatedCluster
from tests.portal.kubernetes import world

MIG = "nvidia.com/mig-1g.10gb"
SHAPES = (PoolShape("h100", world.GPU), PoolShape("a100", world.GPU), PoolShape("h100-1g", MIG))


def by_name(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Manifests by name."""
    return {item["metadata"]["name"]: item for item in found}


def test_a_namespace_gets_a_quota_a_class_and_one_over_every_device_resource() -> None:
    targets = {"h100": Target(2, 1, 3), "a100": Target(1, 0, 1)}
    found = by_name(
        manifests.quotas(
            "team-c", targets, SHAPES, [world.GPU, "amd.com/gpu", f"{world.GPU}.shared"]
        )
    )
    assert found["evenshare-guaranteed-h100"] == {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "evenshare-guaranteed-h100", "namespace": "team-c"},
        "spec": {
            "hard": {
                "requests.amd.com/gpu": "0",
                "requests.nvidia.com/gpu": "2",
                "requests.nvidia.com/gpu.shared": "0",
                "requests.nvidia.com/mig-1g.10gb": "0",
            },
            "scopeSelector": {
                "matchExpressions": [
                    {
                        "scopeName": "PriorityClass",
                        "operator": "In",
                        "values": ["evenshare-guaranteed-h100"],
                    }
                ]
            },
        },
    }
    assert found["evenshare-burst-h100-1g"]["spec"]["hard"][f"requests.{MIG}"] == "0"
    assert found["evenshare-total"]["spec"] == {
        "hard": {
            "requests.amd.com/gpu": "0",
            "requests.nvidia.com/gpu": "4",
            "requests.nvidia.com/gpu.shared": "0",
            "requests.nvidia.com/mig-1g.10gb": "0",
        }
    }


def test_device_classes_are_zero_in_the_quota_over_all_and_in_no_other() -> None:
    long = "x" * 70
    claims = {"gpu.example": "", "served.example": "nvidia.com/gpu", long: ""}
    targets = {"h100": Target(2, 1, 3)}
    found = by_name(manifests.quotas("n", targets, SHAPES[:1], ["nvidia.com/gpu"], claims=claims))
    assert found["evenshare-total"]["spec"]["hard"] == {
        "requests.nvidia.com/gpu": "3",
        "gpu.example.deviceclass.resource.k8s.io/devices": "0",
        "requests.deviceclass.resource.kubernetes.io/gpu.example": "0",
        # Claims of this one the scheduler makes for pods, which are counted as such.
        "served.example.deviceclass.resource.k8s.io/devices": "3",
        "requests.deviceclass.resource.kubernetes.io/served.example": "3",
        # A longer key is none a server takes.
        f"{long}.deviceclass.resource.k8s.io/devices": "0",
    }
    for name in ("evenshare-guaranteed-h100", "evenshare-burst-h100"):
        assert set(found[name]["spec"]["hard"]) == {"requests.nvidia.com/gpu"}


def test_guaranteed_outranks_burst_and_burst_evicts_nobody() -> None:
    found = by_name(manifests.priority_classes(SHAPES[:1]))
    guaranteed, burst = found["evenshare-guaranteed-h100"], found["evenshare-burst-h100"]
    assert guaranteed["value"] > burst["value"] >= 0
    assert (guaranteed["preemptionPolicy"], burst["preemptionPolicy"]) == (
        "PreemptLowerPriority", "Never"
    )  # fmt: skip


def everything(port: SimulatedCluster) -> list[Manifest]:
    """All objects we may write."""
    return [*port.namespaces().items, *port.priority_classes().items, *port.quotas().items]


def wanted(figures: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """Classes, and the quotas of two namespaces; (guaranteed, burst) by pool."""
    targets = {name: Target(g, b, g + b) for name, (g, b) in figures.items()}
    found = manifests.priority_classes(world.POOLS)
    for team in world.TEAMS:
        found.append(manifests.namespace(team, team))
        found += manifests.quotas(team, targets, world.POOLS, [world.GPU])
    return found


figures = st.dictionaries(
    st.sampled_from(["a100", "t4"]), st.tuples(st.integers(0, 16), st.integers(0, 16))
)


@settings(max_examples=25)
@given(st.lists(figures, min_size=1, max_size=4))
def test_after_applying_a_difference_there_is_none(
    rounds: list[dict[str, tuple[int, int]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        building.create(Path(folder) / "lab.cluster", world.a_plan())
        port = SimulatedCluster(Path(folder) / "lab.cluster")
        for number, figure in enumerate(rounds):
            found = diff.compare(wanted(figure), everything(port))
            assert found.drifts == []
            for write in found.writes:
                port.apply(
                    write.manifest, manager=MANAGER, fence=number,
                    resource_version=write.resource_version,
                )  # fmt: skip
            again = diff.compare(wanted(figure), everything(port))
            assert again == diff.Difference()
        port.close()


def test_a_change_is_named_by_field_from_what_to_what(folder: Path) -> None:
    port = world.a_port(folder)
    world.allow(port, "vision", guaranteed=2, burst=1)
    targets = {"a100": Target(3, 1, 4)}
    found = diff.compare(
        manifests.quotas("vision", targets, world.POOLS, [world.GPU]), everything(port)
    )
    assert [(w.name, w.changes) for w in found.writes] == [
        (
            "evenshare-guaranteed-a100",
            (diff.Change("spec.hard[requests.nvidia.com/gpu]", "2", "3"),),
        ),
        ("evenshare-total", (diff.Change("spec.hard[requests.nvidia.com/gpu]", "3", "4"),)),
    ]
    assert [write.growth for write in found.writes] == [1, 1]


def test_a_field_somebody_took_is_drift_with_their_name_and_is_not_written(folder: Path) -> None:
    port = world.a_port(folder)
    world.allow(port, "vision", guaranteed=2, burst=1)
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    hostile = {**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "99"}}}
    port.apply(hostile, manager="kubectl-edit", force=True)

    targets = {"a100": Target(2, 1, 3)}
    found = diff.compare(
        manifests.quotas("vision", targets, world.POOLS, [world.GPU]), everything(port)
    )
    assert found.writes == []
    assert found.drifts == [
        diff.Drifted(
            "ResourceQuota", "vision", "evenshare-guaranteed-a100",
            "spec.hard[requests.nvidia.com/gpu]", "2", "99", "kubectl-edit",
        )
    ]  # fmt: skip


def test_a_label_we_set_and_want_no_more_is_taken_back(folder: Path) -> None:
    port = world.a_port(folder)
    port.apply(manifests.namespace("vision", "vision"), manager=MANAGER)
    found = diff.compare([manifests.namespace("vision", None)], everything(port))
    (write,) = found.writes
    assert write.changes == (diff.Change("metadata.labels[evenshare.io/team]", "vision", None),)


def test_what_our_account_set_otherwise_than_by_apply_is_not_ours_to_take_back() -> None:
    by_hand = {
        "manager": MANAGER, "operation": "Update", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:stage": {}}}},
    }  # fmt: skip
    labels = {"stage": "a"}
    metadata = {
        "name": "vision", "resourceVersion": "7", "labels": labels, "managedFields": [by_hand],
    }  # fmt: skip
    found = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    (write,) = diff.compare([manifests.namespace("vision", "vision")], [found]).writes
    assert write.changes == (diff.Change("metadata.labels[evenshare.io/team]", None, "vision"),)
    labels["evenshare.io/team"] = "vision"
    assert diff.compare([manifests.namespace("vision", "vision")], [found]) == diff.Difference()


def test_the_fence_beside_an_object_is_no_difference(folder: Path) -> None:
    port = world.a_port(folder)
    quota = manifests.quotas("vision", {}, world.POOLS, [world.GPU])[0]
    port.apply(quota, manager=MANAGER, fence=41)
    assert diff.compare([quota], everything(port)) == diff.Difference()


def a_class(name: str, value: int, policy: str = "Never") -> dict[str, dict[str, Any]]:
    """A class that is there, by name."""
    return {name: {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}}


def test_a_class_of_another_value_gets_a_successor_and_the_quota_counts_both() -> None:
    base = "evenshare-burst-h100"
    assert manifests.versions(base) == [base]
    assert manifests.versions(base, a_class(base, 1_000)) == [base]
    other = a_class(base, 5)
    assert manifests.versions(base, other) == [base, f"{base}-v2"]
    both = {**other, **a_class(f"{base}-v2", 6)}
    assert manifests.versions(base, both) == [base, f"{base}-v2", f"{base}-v3"]
    third = {**both, **a_class(f"{base}-v3", 1_000)}
    assert manifests.versions(base, third) == [base, f"{base}-v2", f"{base}-v3"]
    back = {**a_class(base, 1_000), **a_class(f"{base}-v2", 6)}
    assert manifests.versions(base, back) == [f"{base}-v2", base]
    classes = by_name(manifests.priority_classes(SHAPES[:1], other))
    assert set(classes) == {"evenshare-guaranteed-h100", f"{base}-v2"}
    found = by_name(manifests.quotas("team-c", {}, SHAPES[:1], [], other))
    [term] = found[base]["spec"]["scopeSelector"]["matchExpressions"]
    assert term["values"] == [base, f"{base}-v2"]
