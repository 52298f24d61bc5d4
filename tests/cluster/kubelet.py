"""What a kubelet would say of a node and its pods, patched by hand: no container ever runs.

Nodes get their devices as a device plug-in would report them; pods move on when a test says so.
Binding is left to the real scheduler.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.cluster.kit import Kit, wait_for


def stamp() -> str:
    """Now, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def add_node(
    kit: Kit, name: str, devices: Mapping[str, int], labels: Mapping[str, str] | None = None
) -> None:
    """A ready machine with so many devices of each resource."""
    given = {"kubernetes.io/hostname": name, **(labels or {})}
    kit.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": given}})
    offer(kit, name, devices)
    # The taint a new node gets until its kubelet reports; nothing here takes it away again.
    kit.patch("Node", name, {"spec": {"taints": []}})


def offer(kit: Kit, name: str, devices: Mapping[str, int], *, ready: bool = True) -> None:
    """What the node reports to have."""
    amounts: dict[str, Any] = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    amounts |= {resource: str(count) for resource, count in devices.items()}
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "KubeletReady" if ready else "KubeletNotReady",
        "lastHeartbeatTime": stamp(),
        "lastTransitionTime": stamp(),
    }
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [condition]}
    kit.patch("Node", name, {"status": status}, part="status")


def wait_bound(kit: Kit, namespace: str, name: str) -> str:
    """The node the scheduler put a pod on."""

    def look() -> str:
        return str(kit.get("Pod", name, namespace)["spec"].get("nodeName", ""))

    return wait_for(look, f"{name} to be bound")


def run(kit: Kit, namespace: str, name: str) -> None:
    """The pod's containers run and are ready."""
    wait_bound(kit, namespace, name)
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": stamp()}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    running = {"running": {"startedAt": stamp()}}
    status = {
        "phase": "Running",
        "startTime": stamp(),
        "conditions": conditions,
        "containerStatuses": _statuses(kit, namespace, name, running, ready=True),
    }
    kit.patch("Pod", name, {"status": status}, namespace, part="status")


def finish(kit: Kit, namespace: str, name: str, *, failed: bool = False) -> None:
    """The pod's containers end."""
    begun = kit.get("Pod", name, namespace)["status"].get("startTime", stamp())
    ended = {
        "terminated": {
            "exitCode": 1 if failed else 0,
            "reason": "Error" if failed else "Completed",
            "startedAt": begun,
            "finishedAt": stamp(),
        }
    }
    status = {
        "phase": "Failed" if failed else "Succeeded",
        "containerStatuses": _statuses(kit, namespace, name, ended, ready=False),
    }
    kit.patch("Pod", name, {"status": status}, namespace, part="status")


def _statuses(
    kit: Kit, namespace: str, name: str, state: Mapping[str, Any], *, ready: bool
) -> list[dict[str, Any]]:
    containers = kit.get("Pod", name, namespace)["spec"]["containers"]
    return [
        {
            "name": container["name"], "image": container["image"], "imageID": "", "ready": ready,
            "restartCount": 0, "started": ready, "state": dict(state),
        }
        for container in containers
    ]  # fmt: skip
