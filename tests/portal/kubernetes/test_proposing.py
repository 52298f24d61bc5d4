"""A cluster as it was found becomes pools, owners and a first proposal."""

from typing import Any

import pytest

from portal.inventory.models import Sharing
from portal.kubernetes import placing
from portal.kubernetes.port import Listing
from portal.kubernetes.proposing import Guarantee, Proposal, propose

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}


def node(name: str, offer: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A machine."""
    status = {"allocatable": {"cpu": "64", "memory": "1Ti", **offer}}
    return {"metadata": {"name": name, "labels": labels or {}}, "status": status}


def namespace(name: str, team: str = "") -> dict[str, Any]:
    """A namespace, labelled if a team is named."""
    labels = {"evenshare.io/team": team} if team else {}
    return {"metadata": {"name": name, "labels": labels}}


def quota(where: str, name: str, hard: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A quota somebody made."""
    return {"metadata": {"namespace": where, "name": name}, "spec": {"hard": hard, **spec}}


def looked(
    nodes: list[Any], namespaces: list[Any] | None = None, quotas: list[Any] | None = None
) -> Proposal:
    """The proposal, in an organisation with two teams."""
    return propose(
        Listing(tuple(nodes), "1"), Listing(tuple(namespaces or ()), "1"),
        Listing(tuple(quotas or ()), "1"), {"vision", "speech"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("offer", "labels", "name", "resource", "sharing", "worth"),
    [
        ({GPU: "8"}, A100, "a100-sxm4-80gb", GPU, Sharing.DEDICATED, 1000),
        ({MIG: "7"}, A100, "a100-sxm4-80gb-mig-1g-10gb", MIG, Sharing.MIG, 142),
        (
            {GPU: "14"}, {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"},
            "a100-sxm4-80gb-mig-1g-10gb", GPU, Sharing.MIG, 142,
        ),
        (
            {"nvidia.com/mig-2g.12gb": "2"}, {"nvidia.com/gpu.product": "NVIDIA-A30"},
            "a30-mig-2g-12gb", "nvidia.com/mig-2g.12gb", Sharing.MIG, 500,
        ),
        (
            {GPU: "16"}, {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4",
                          "nvidia.com/gpu.sharing-strategy": "time-slicing"},
            "tesla-t4-shared", GPU, Sharing.SHARED, 250,
        ),
        (
            {"nvidia.com/gpu.shared": "4"}, {"nvidia.com/gpu.product": "Tesla-T4"},
            "tesla-t4-shared", "nvidia.com/gpu.shared", Sharing.SHARED, 1000,
        ),
        ({"amd.com/gpu": "8"}, {}, "amd-com-gpu", "amd.com/gpu", Sharing.DEDICATED, 1000),
        ({GPU: "8"}, {**A100, "evenshare.io/pool": "big"}, "big", GPU, Sharing.DEDICATED, 1000),
        ({GPU: "1"}, {"nvidia.com/gpu.product": "X-v2"}, "x-v2-pool", GPU, Sharing.DEDICATED, 1000),
    ],
)  # fmt: skip
def test_a_nodes_pool_is_told_by_label_product_sharing_and_resource(
    offer: dict[str, str], labels: dict[str, str], name: str, resource: str, sharing: Sharing,
    worth: int,
) -> None:  # fmt: skip
    place = placing.place(node("n", offer, labels))
    assert place is not None
    assert (place.pool, place.resource, place.sharing, place.equivalent_milli) == (
        name, resource, sharing, worth,
    )  # fmt: skip


@pytest.mark.parametrize("offer", [{}, {GPU: "0"}, {"hugepages-1Gi": "4"}, {"rdma/hca": "8"}])
def test_a_node_without_devices_belongs_to_no_pool(offer: dict[str, str]) -> None:
    assert placing.place(node("n", offer)) is None
    assert placing.pool_of(node("n", offer)) == ""


def test_names_stay_short_enough_for_a_label_and_apart() -> None:
    long = "Vendor-With-A-Very-Long-Product-Name-That-Goes-On-And-On-And-On"
    names = {
        placing.pool_of(node("n", {GPU: "1"}, {"nvidia.com/gpu.product": f"{long}-{number}"}))
        for number in range(3)
    }
    assert len(names) == 3
    assert all(len(name) <= 50 for name in names)


def test_nodes_of_one_pool_are_summed_and_those_that_do_not_fit_are_named() -> None:
    pool = {"evenshare.io/pool": "mixed"}
    other = {"nvidia.com/gpu.product": "Tesla-T4", **pool}
    found = looked([node("a", {GPU: "8"}, {**A100, **pool}), node("b", {GPU: "4"}, other)])
    assert [(p.name, p.gpus, p.nodes) for p in found.pools] == [("mixed", 12, ("a", "b"))]
    assert found.notes == ["Node b is labelled mixed but offers nvidia.com/gpu of Tesla-T4."]


def test_a_pools_name_cannot_be_taken_for_a_later_class() -> None:
    found = looked([node("a", {GPU: "8"}, {**A100, "evenshare.io/pool": "a100-v2"})])
    assert found.pools == []
    assert "No pool may be called a100-v2" in found.notes[0]


def test_devices_beside_a_nodes_pool_are_named() -> None:
    found = looked([node("a", {GPU: "4", MIG: "7"}, A100)])
    assert [(pool.resource, pool.gpus) for pool in found.pools] == [(GPU, 4)]
    assert found.notes == [
        f"Node a also offers 7 of {MIG}, which no pool counts: quotas hold it at 0."
    ]


def test_quotas_of_a_teams_namespaces_add_up_to_a_guarantee() -> None:
    found = looked(
        [node("a", {GPU: "8"}, A100)],
        [namespace("v1", "vision"), namespace("v2", "vision"), namespace("free")],
        [
            quota("v1", "gpus", {f"requests.{GPU}": "3", "requests.cpu": "4"}),
            quota("v2", "gpus", {f"requests.{GPU}": "2"}),
            # Both bind, so the narrower one says what the team has.
            quota("v2", "wide", {f"requests.{GPU}": "7"}),
            quota("free", "gpus", {f"requests.{GPU}": "9"}),
            quota("v1", "evenshare-total", {f"requests.{GPU}": "9"}),
            quota("v1", "low", {f"requests.{GPU}": "9"}, scopes=["BestEffort"]),
        ],
    )
    assert found.guarantees == [Guarantee("vision", "a100-sxm4-80gb", 5, ("v1/gpus", "v2/gpus"))]
    assert found.notes == [
        f"free/gpus limits {GPU} to 9, but the namespace is no team's: label it "
        "evenshare.io/team=TEAM, then look again."
    ]


def test_a_resource_several_pools_share_is_left_to_a_person() -> None:
    found = looked(
        [node("a", {GPU: "8"}, A100), node("b", {GPU: "8"}, {"nvidia.com/gpu.product": "H100"})],
        [namespace("v", "vision")],
        [quota("v", "gpus", {f"requests.{GPU}": "3"})],
    )
    assert found.guarantees == []
    assert found.notes == [
        "v/gpus limits nvidia.com/gpu, which the pools a100-sxm4-80gb, h100 share: say by hand how "
        "much is of which."
    ]


@pytest.mark.parametrize("key", [GPU, f"limits.{GPU}"])
def test_a_key_that_enforces_nothing_is_named(key: str) -> None:
    found = looked([], [namespace("v", "vision")], [quota("v", "gpus", {key: "3"})])
    assert found.notes == [f"v/gpus: the key {key} enforces nothing; only requests.{GPU} would."]


def test_a_namespace_of_a_team_nobody_knows_is_named() -> None:
    found = looked([], [namespace("v", "ghosts")])
    assert found.namespaces == {}
    assert found.notes == ["Namespace v is labelled for the team ghosts, which does not exist."]
