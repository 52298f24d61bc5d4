"""Why a job does not run: a real scheduler's sentences on 17 pods, and whatever else stands there."""

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.kubernetes import pending, reach, verdict
from portal.kubernetes.port import Listing
from portal.kubernetes.verdict import Kind
from tests.portal.kubernetes.recorded import DATA

RECORDED: dict[str, Any] = json.loads(
    gzip.decompress((DATA / "unschedulable-pods.json.gz").read_bytes())
)
GPU = "nvidia.com/gpu"
# Judged by hand from the nodes the pods met; what has a node needs no reason.
CAUSES = {
    "affinity": "cluster_affinity",  # asks for zone z9, there is none
    "antiaff": "cluster_affinity",  # two nodes have GPUs free, and forbidden neighbours
    "cpu-starved": "cluster_cpu_memory",  # 200 cores, no node has more than 96
    "fill-a": "",
    "fill-b": "",
    "fragmented-5": "cluster_fragmented",  # 4 and 1 free on the two nodes it may use
    "gated": "cluster_gated",
    "low-prio": "",
    "mem-starved": "cluster_cpu_memory",
    "mig-missing": "cluster_gpu_short",  # no node offers the instance
    "mig-ok": "",
    "no-pvc": "cluster_storage",
    "ok-4": "",
    "spread": "cluster_topology",
    "toleration-only": "cluster_taint",  # the one node it names is tainted
    "too-big-16": "cluster_gpu_short",  # 16 on one node, the largest has 8
    "wants-h200": "cluster_affinity",  # no node has the product
}


def recorded() -> list[dict[str, Any]]:
    """The pods with the condition they were given."""
    found = []
    for entry in RECORDED["pods"]:
        pod, condition = entry["pod"], entry["condition"]
        pod["metadata"].setdefault("uid", pod["metadata"]["name"])
        found.append({**pod, "status": {"phase": "Pending", "conditions": [condition]}})
    return found


def room_at(moment: str) -> reach.Room:
    """The nodes as they stood when a pod was judged: with what had been placed by then."""
    there = [pod for pod in recorded() if pod["status"]["conditions"][0]["status"] == "True"]
    before = [p for p in there if p["status"]["conditions"][0]["lastTransitionTime"] <= moment]
    return reach.room(Listing(tuple(RECORDED["nodes"]), "1"), Listing(tuple(before), "1"))


def cause(pod: Mapping[str, Any]) -> pending.Reason:
    """Why this recorded pod does not run, as of the moment it was judged."""
    moment = pod["status"]["conditions"][0]["lastTransitionTime"]
    return pending.why(pod, [pod], "", room_at(moment))


@pytest.mark.parametrize("pod", recorded(), ids=lambda pod: str(pod["metadata"]["name"]))
def test_each_recorded_pod_is_given_its_cause(pod: dict[str, Any]) -> None:
    found = cause(pod)
    assert found.word == CAUSES[pod["metadata"]["name"]]
    assert found.sentence == pod["status"]["conditions"][0].get("message", "")


def test_there_are_17_recorded_pods() -> None:
    assert {pod["metadata"]["name"] for pod in recorded()} == set(CAUSES)


def of_name(name: str) -> dict[str, Any]:
    """One recorded pod."""
    return next(pod for pod in recorded() if pod["metadata"]["name"] == name)


def test_fragmentation_tells_what_is_free_and_where() -> None:
    found = cause(of_name("fragmented-5"))
    assert (found.detail["free_gpu_milli"], found.detail["largest_on_one_node"]) == (5000, 4000)
    assert found.detail["needs_on_one_node"] == 5000


def test_the_same_sentence_is_a_shortage_once_one_more_gpu_is_taken() -> None:
    pod = of_name("fragmented-5")
    later = room_at("2026-11-30T18:06:52Z")
    found = pending.why(pod, [pod], "", later)
    assert found.word == "cluster_gpu_short"


def test_a_shortage_tells_how_much_one_node_could_ever_give() -> None:
    assert cause(of_name("too-big-16")).detail["largest_node"] == 8000
    missing = cause(of_name("mig-missing")).detail
    assert (missing["resource"], missing["largest_node"]) == ("nvidia.com/mig-3g.40gb", 0)


def test_one_sentence_has_two_causes_told_apart_by_the_nodes() -> None:
    tainted, absent = of_name("toleration-only"), of_name("wants-h200")
    sentences = {p["status"]["conditions"][0]["message"] for p in (tainted, absent)}
    assert len(sentences) == 1
    assert cause(tainted).detail == {"nodes": 1, "cordoned": 0}
    assert cause(absent).detail == {"by": "labels"}


def a_pod(message: str = "", **more: Any) -> dict[str, Any]:
    """A pod of one GPU; with a sentence if one is given."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    spec = {"containers": [{"name": "c", "resources": {"limits": {GPU: "1"}}}]}
    return {
        "metadata": {"name": "p", "uid": "u", **more.pop("metadata", {})},
        "spec": {**spec, **more.pop("spec", {})},
        "status": {
            "phase": "Pending",
            "conditions": [{**condition, "message": message}] if message else [],
            **more.pop("status", {}),
        },
    }


def a_job(**spec: Any) -> dict[str, Any]:
    """An owner."""
    return {"kind": "Job", "metadata": {"name": "j", "uid": "j"}, "spec": spec}


NOWHERE = reach.room(Listing((), "1"), Listing((), "1"))


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("0/3 nodes are available: 3 Insufficient cpu.", "cluster_cpu_memory"),
        ("0/3 nodes are available: 3 Too many pods.", "cluster_cpu_memory"),
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "cluster_gpu_short"),
        ("0/3 nodes are available: 3 cannot allocate all claims.", "cluster_gpu_short"),
        (
            "0/3 nodes are available: 3 node(s) had untolerated taint {gpu: only}. preemption: "
            "0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            "cluster_taint",
        ),
        ("0/3 nodes are available: 3 node(s) were unschedulable.", "cluster_taint"),
        (
            "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.",
            "cluster_storage",
        ),
        (
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
            "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            "cluster_storage",
        ),
        (
            "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints.",
            "cluster_topology",
        ),
        ("0/3 nodes are available: 3 node(s) didn't match pod affinity rules.", "cluster_affinity"),
        (
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: not eligible "
            "due to a terminating pod on the nominated node.",
            "cluster_preempting",
        ),
        ("0/3 nodes are available: waiting for minCount pods from a gang.", "cluster_unknown"),
        ("The moon is in the wrong place.", "cluster_unknown"),
    ],
)
def test_a_sentence_alone_is_classed_by_its_words(message: str, word: str) -> None:
    found = pending.why(a_job(), [a_pod(message)], "", NOWHERE)
    assert (found.word, found.sentence) == (word, message)


@pytest.mark.parametrize(
    ("owner", "members", "refusal", "word", "detail"),
    [
        (a_job(suspend=True), [], "", "cluster_suspended", {}),
        (
            {**a_job(suspend=True), "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}},
            [], "", "cluster_suspended", {"queue": "q"},
        ),
        (a_job(), [], "exceeded quota: evenshare-total", "cluster_quota", {}),
        (a_job(), [], "status unknown for quota: evenshare-total", "cluster_quota", {}),
        (a_job(), [], "ValidatingAdmissionPolicy says no", "cluster_policy", {}),
        (a_job(), [a_pod(spec={"schedulerName": "gone"})], "", "cluster_scheduler",
         {"scheduler": "gone"}),
        (a_job(), [a_pod()], "", "cluster_scheduler", {"scheduler": "default-scheduler"}),
        (a_job(), [a_pod(spec={"schedulingGates": [{"name": "a/b"}]})], "", "cluster_gated",
         {"gates": ["a/b"]}),
        (a_job(), [a_pod("anything", status={"nominatedNodeName": "n"})], "",
         "cluster_preempting", {}),
    ],
)  # fmt: skip
def test_what_has_no_sentence_of_a_scheduler_is_explained_too(
    owner: dict[str, Any], members: list[dict[str, Any]], refusal: str, word: str,
    detail: dict[str, Any],
) -> None:  # fmt: skip
    found = pending.why(owner, members, refusal, NOWHERE)
    assert (found.word, dict(found.detail)) == (word, detail)


def test_a_refusal_stands_in_the_owner_after_its_event_is_gone() -> None:
    told = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: q"}
    owner = {**a_job(replicas=2), "status": {"conditions": [told]}}
    assert pending.why(owner, [], "", NOWHERE).word == "cluster_quota"


def placed(*, init: bool = False, **status: Any) -> dict[str, Any]:
    """A pod on a node that has not begun."""
    spec: dict[str, Any] = {"nodeName": "n"}
    if init:
        spec["initContainers"] = [{"name": "i"}]
    return a_pod(spec=spec, status=status)


def waiting(reason: str, message: str = "") -> list[dict[str, Any]]:
    """A container that waits."""
    return [{"name": "c", "state": {"waiting": {"reason": reason, "message": message}}}]


MOUNTED = {"type": "PodReadyToStartContainers", "status": "True"}
NOT_MOUNTED = {"type": "PodReadyToStartContainers", "status": "False"}
NOT_INITIALIZED = {"type": "Initialized", "status": "False"}


@pytest.mark.parametrize(
    ("pod", "word", "sentence"),
    [
        (placed(containerStatuses=waiting("ImagePullBackOff", "back-off")), "cluster_image",
         "ImagePullBackOff: back-off"),
        (placed(containerStatuses=waiting("ContainerCreating"), conditions=[NOT_MOUNTED]),
         "cluster_volume", ""),
        (placed(containerStatuses=waiting("ContainerCreating"), conditions=[MOUNTED]),
         "cluster_image", ""),
        (placed(init=True, conditions=[MOUNTED, NOT_INITIALIZED],
                initContainerStatuses=[{"name": "i", "state": {"running": {}}}]),
         "cluster_init", ""),
        (placed(init=True, conditions=[MOUNTED, NOT_INITIALIZED],
                initContainerStatuses=waiting("PodInitializing")), "cluster_image", ""),
        (placed(containerStatuses=waiting("CreateContainerConfigError", "no secret")),
         "cluster_unknown", "CreateContainerConfigError: no secret"),
        (placed(phase="Running"), "", ""),
        (placed(phase="Succeeded"), "", ""),
    ],
)  # fmt: skip
def test_a_placed_pod_says_what_its_start_waits_for(
    pod: dict[str, Any], word: str, sentence: str
) -> None:
    found = pending.why(a_job(), [pod], "", NOWHERE)
    assert (found.word, found.sentence) == (word, sentence)


NODES = st.integers(0, 10**6)
REASONS = st.lists(
    st.tuples(
        st.integers(1, 10**5),
        st.sampled_from(
            ["Insufficient nvidia.com/gpu", "Insufficient cpu", "node(s) were unschedulable",
             "node(s) didn't match pod anti-affinity rules", "node(s) had untolerated taint(s)"]
        ),
    ),
    max_size=5,
)  # fmt: skip


@given(text=st.text(max_size=300) | st.binary(max_size=40).map(str))
def test_no_sentence_makes_the_parser_fail_and_each_is_kept(text: str) -> None:
    found = verdict.parse(text)
    assert found.sentence == text
    assert pending.why(a_job(), [a_pod(text)], "", NOWHERE).sentence == text


@given(nodes=NODES, junk=st.text(max_size=200))
def test_no_ending_of_a_sentence_makes_the_parser_fail(nodes: int, junk: str) -> None:
    found = verdict.parse(f"0/{nodes} nodes are available: {junk}")
    assert found.nodes == nodes
    assert all(count >= 0 for count, _ in found.reasons)


@given(nodes=NODES, reasons=REASONS)
def test_what_is_written_by_the_grammar_is_read_back(
    nodes: int, reasons: list[tuple[int, str]]
) -> None:
    parts = ", ".join(f"{count} {text}" for count, text in reasons)
    tail = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    found = verdict.parse(f"0/{nodes} nodes are available: {parts}.{tail}")
    assert list(found.reasons) == reasons
    assert found.preemption.startswith("0/1 nodes")


def test_a_long_sentence_is_read_in_time_and_kept_whole() -> None:
    text = "0/9 nodes are available: " + "1 " * 200_000
    assert verdict.parse(text).sentence == text


def test_reasons_are_counted_by_what_they_are_about() -> None:
    text = "0/5 nodes are available: 2 Insufficient cpu, 3 Insufficient memory, 1 Too many pods."
    assert verdict.parse(text).counted() == {Kind.CPU_MEMORY: 6}
