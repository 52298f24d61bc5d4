"""Why pods wait, in the words of a live scheduler: the same causes as of the recorded ones.

The recorded pods are made anew on the recorded nodes. They carry no pool and class of ours, so
their namespace counts as the system's for the time of the test.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from portal.kubernetes import pending, reach
from portal.kubernetes.port import ClusterError
from tests.cluster import kubelet
from tests.cluster.kit import Kit, Manifest, wait_for
from tests.cluster.worlds import World
from tests.portal.kubernetes.test_pending import CAUSES, RECORDED

LIMITS, KEY = ("ConfigMap", "evenshare-limits", "evenshare"), "system-namespaces"
PLACED = ("ok-4", "fill-a", "fill-b", "mig-ok")
# Taken last: with one GPU fewer the sum no longer fits what is only scattered before.
LAST = "low-prio"


@dataclass(frozen=True)
class Judged:
    """The namespace whose pods are judged, in the cluster."""

    world: World
    namespace: str

    @property
    def kit(self) -> Kit:
        """The cluster as its admin."""
        return self.world.kit


_numbers = count()


@pytest.fixture
def judged(world: World) -> Iterator[Judged]:
    """The recorded nodes, and a namespace where pods may be as they were recorded."""
    kit = world.kit
    for node in RECORDED["nodes"]:
        metadata, offer = node["metadata"], node["status"]["allocatable"]
        kit.create(
            {"apiVersion": "v1", "kind": "Node",
             "metadata": {"name": metadata["name"], "labels": metadata["labels"]}}
        )  # fmt: skip
        kubelet.offer(kit, metadata["name"], {})
        status = {"capacity": offer, "allocatable": offer}
        kit.patch("Node", metadata["name"], {"status": status}, part="status")
        kit.patch("Node", metadata["name"], {"spec": {"taints": node["spec"].get("taints", [])}})
    # Namespaces end slowly, so no test takes a name again.
    namespace = world.namespace(f"judged-{next(_numbers)}")
    before = kit.get(*LIMITS)["data"][KEY]
    kit.patch(LIMITS[0], LIMITS[1], {"data": {KEY: f"{before},{namespace}"}}, LIMITS[2])
    yield Judged(world, namespace)
    kit.patch(LIMITS[0], LIMITS[1], {"data": {KEY: before}}, LIMITS[2])


def asked(judged: Judged, name: str) -> Manifest:
    """A recorded pod as somebody would hand it in."""
    found: dict[str, Any] = next(
        deepcopy(entry["pod"])
        for entry in RECORDED["pods"]
        if entry["pod"]["metadata"]["name"] == name
    )
    found["spec"].pop("nodeName", None)
    found["spec"].pop("tolerations", None)
    metadata = {"name": name, "namespace": judged.namespace, "labels": found["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": found["spec"]}


def create(judged: Judged, name: str) -> None:
    """Hand a pod in, once the policies know the namespace."""

    def made() -> bool:
        try:
            judged.kit.create(asked(judged, name))
        except ClusterError as error:
            if "already exists" in str(error):
                return True
            if "evenshare" in str(error):
                return False
            raise
        return True

    wait_for(made, f"{name} to be let in")


def reasons(judged: Judged) -> dict[str, pending.Reason]:
    """Why each pod waits, as our account sees the cluster."""
    port = judged.world.port()
    nodes, pods = port.nodes(), port.pods()
    room = reach.room(nodes, pods)
    return {
        item["metadata"]["name"]: pending.why(item, [item], "", room)
        for item in pods.items
        if item["metadata"]["namespace"] == judged.namespace
    }


def test_a_live_scheduler_is_understood_as_the_recorded_one(judged: Judged) -> None:
    for name in PLACED:
        create(judged, name)
        kubelet.wait_bound(judged.kit, judged.namespace, name)
    waiting = [name for name in CAUSES if name not in (*PLACED, LAST)]
    for name in waiting:
        create(judged, name)

    def judged_all() -> dict[str, pending.Reason] | None:
        found = reasons(judged)
        told = all(found[name].word not in ("", "cluster_scheduler") for name in waiting)
        return found if told else None

    found = wait_for(judged_all, "the scheduler to have judged all")
    expected = {name: word for name, word in CAUSES.items() if name != LAST}
    # Bound pods wait for a kubelet that is not there; what it would say is another test's.
    words = {name: reason.word for name, reason in found.items() if name not in PLACED}
    assert words == {name: word for name, word in expected.items() if name not in PLACED}
    assert all(found[name].sentence for name in waiting)


def test_one_more_gpu_taken_turns_scattered_into_short(judged: Judged) -> None:
    for name in (*PLACED, "fragmented-5"):
        create(judged, name)
    wait_for(lambda: reasons(judged)["fragmented-5"].word == "cluster_fragmented")
    create(judged, LAST)
    kubelet.wait_bound(judged.kit, judged.namespace, LAST)
    assert reasons(judged)["fragmented-5"].word == "cluster_gpu_short"


def test_a_scheduler_nobody_runs_is_named(judged: Judged) -> None:
    pod = asked(judged, "ok-4")
    pod["metadata"]["name"] = "lonely"
    pod["spec"]["schedulerName"] = "volcano"
    create(judged, "ok-4")
    judged.kit.create(pod)
    found = reasons(judged)["lonely"]
    assert (found.word, dict(found.detail)) == ("cluster_scheduler", {"scheduler": "volcano"})
