"""A manifest somebody is given can be handed in, and is read back as what was wished for."""

from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from portal.inventory.models import ClusterMode
from portal.kubernetes import composing, owning, pods, raying, terms
from portal.kubernetes.composing import BURST, DEPLOYMENT, GUARANTEED, JOB, KINDS, RAYJOB, Order
from portal.workloads.models import Kind
from tests.portal.kubernetes.test_manifests_against_schemas import check

GPU = "nvidia.com/gpu"
PLAIN = Order(
    kind=JOB, name="train", namespace="vision", pool="h100", resource=GPU,
    mode=ClusterMode.QUOTA, job_class="training", pods=2, gpus=8, cpu=16, memory_gib=256,
    image="registry/train:1", command="python train.py", duration_seconds=7200, save_seconds=60,
    restore_seconds=30, reservation_id=12,
)  # fmt: skip
ORDERS = st.builds(
    Order,
    kind=st.sampled_from(KINDS), name=st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True),
    namespace=st.just("vision"), pool=st.sampled_from(["h100", "a100-mig-1g-10gb"]),
    resource=st.sampled_from([GPU, "nvidia.com/mig-1g.10gb"]),
    mode=st.sampled_from([mode.value for mode in ClusterMode]),
    job_class=st.sampled_from(Kind.values), pods=st.integers(1, 1000), gpus=st.integers(1, 64),
    cpu=st.integers(1, 1000), memory_gib=st.integers(1, 16384), image=st.text(min_size=1, max_size=30),
    command=st.text(max_size=60), charge=st.sampled_from([GUARANTEED, BURST]),
    duration_seconds=st.none() | st.integers(1, 10**8),
    save_seconds=st.none() | st.integers(0, 86_400),
    restore_seconds=st.none() | st.integers(0, 86_400),
    reservation_id=st.none() | st.integers(1, 10**6),
)  # fmt: skip


@pytest.mark.parametrize("mode", ClusterMode.values)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_mode_is_valid(kind: str, mode: str) -> None:
    check(composing.manifest(replace(PLAIN, kind=kind, mode=mode)))


@given(ORDERS)
@example(replace(PLAIN, command="\x85"))
@example(replace(PLAIN, command="한국어 \u2028 다음", image="\ufeff"))
def test_the_text_is_the_manifest_whatever_was_filled_in(order: Order) -> None:
    found = yaml.safe_load(composing.text(order))
    assert found == composing.manifest(order)
    check(found)


@given(ORDERS)
def test_what_is_handed_in_asks_for_what_was_wished(order: Order) -> None:
    made = composing.manifest(order)
    gangs = owning.gangs(made)
    asked = [(gang.replicas, pods.requests(gang.template).get(order.resource)) for gang in gangs]
    assert [entry for entry in asked if entry[1]] == [(order.pods, str(order.gpus))]
    said = terms.read(made, order.pods)
    assert said["kind"] == order.job_class
    assert said["duration_seconds"] == order.duration_seconds
    assert (said["save_seconds"], said["restore_seconds"]) == (
        order.save_seconds, order.restore_seconds
    )  # fmt: skip
    assert said["reservation_id"] == order.reservation_id


def template(order: Order) -> dict[str, object]:
    """The spec of a device pod."""
    spec = composing.manifest(order)["spec"]
    if order.kind == RAYJOB:
        found: dict[str, object] = spec["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]
        return found
    inner: dict[str, object] = spec["template"]["spec"]
    return inner


@pytest.mark.parametrize("kind", KINDS)
def test_pods_name_their_pool_and_one_of_its_classes(kind: str) -> None:
    order = replace(PLAIN, kind=kind)
    assert template(order)["nodeSelector"] == {"evenshare.io/pool": "h100"}
    assert template(order)["priorityClassName"] == "evenshare-guaranteed-h100"
    borrowed = template(replace(order, charge=BURST))
    assert borrowed["priorityClassName"] == "evenshare-burst-h100"


@pytest.mark.parametrize("kind", KINDS)
def test_an_observed_cluster_has_no_labels_and_classes_of_ours(kind: str) -> None:
    found = template(replace(PLAIN, kind=kind, mode=ClusterMode.OBSERVE))
    assert not {"nodeSelector", "priorityClassName"} & set(found)


def test_where_we_decide_starts_a_job_waits_and_is_given_its_class_later() -> None:
    for kind in (JOB, RAYJOB):
        order = replace(PLAIN, kind=kind, mode=ClusterMode.ADMISSION)
        assert composing.manifest(order)["spec"]["suspend"] is True
        assert "priorityClassName" not in template(order)
    deployment = template(replace(PLAIN, kind=DEPLOYMENT, mode=ClusterMode.ADMISSION))
    assert deployment["schedulingGates"] == [{"name": "evenshare.io/admission"}]
    assert "runtimeClassName" not in deployment


def test_a_gated_pod_says_its_isolation_from_the_first() -> None:
    order = replace(PLAIN, kind=DEPLOYMENT, runtime_class="kata-qemu-nvidia-gpu")
    gated = template(replace(order, mode=ClusterMode.ADMISSION))
    assert gated["runtimeClassName"] == "kata-qemu-nvidia-gpu"
    assert "runtimeClassName" not in template(order)
    check(composing.manifest(replace(order, mode=ClusterMode.ADMISSION)))


def test_a_pod_is_given_time_to_save() -> None:
    assert template(PLAIN)["terminationGracePeriodSeconds"] == 90
    assert template(replace(PLAIN, save_seconds=None))["terminationGracePeriodSeconds"] == 30


@pytest.mark.parametrize("resource", [GPU, "nvidia.com/mig-1g.10gb"])
def test_ray_is_told_the_devices_its_pods_have(resource: str) -> None:
    made = composing.manifest(replace(PLAIN, kind=RAYJOB, resource=resource))
    cluster = {
        "kind": "RayCluster", "metadata": {"name": "c", "namespace": "vision", "uid": "u"},
        "spec": made["spec"]["rayClusterSpec"],
    }  # fmt: skip
    (group,) = raying.groups([cluster], [])
    assert (group.desired, group.pod_gpus, group.ray_gpus) == (2, 8, 8)
