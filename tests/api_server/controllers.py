"""What a cluster does by itself, a step at a time: quotas counted, jobs given pods, pods placed.

No thread runs: a test says when. Binding, starting and ending are at once unless it says otherwise.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from portal.kubernetes.places import PLACES
from portal.kubernetes.pods import ENDED, condition, requests
from portal.kubernetes.port import POOL
from portal.kubernetes.quantities import devices
from tests.api_server import refusals, rules
from tests.api_server.places import OTHERS, Target
from tests.api_server.store import Manifest, Store


def at(kind: str, name: str, namespace: str = "") -> Target:
    """An object by name."""
    return Target(kind, (PLACES | OTHERS)[kind], namespace, name)


def of(item: Manifest) -> Target:
    """The object a manifest is of."""
    metadata = item["metadata"]
    return at(item["kind"], metadata["name"], metadata.get("namespace", ""))


def add_namespace(store: Store, name: str, team: str = "") -> None:
    """A namespace, labelled for a team if one is named."""
    labels = {"evenshare.io/team": team} if team else {}
    store.create(at("Namespace", name), {"metadata": {"labels": labels}})


def add_node(store: Store, name: str, offers: Mapping[str, int], pool: str = "") -> None:
    """A ready machine."""
    labels = {"kubernetes.io/hostname": name, **({POOL: pool} if pool else {})}
    amounts = {"cpu": "64", "memory": "512Gi"} | {k: str(v) for k, v in offers.items()}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": store.stamp()}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
    store.create(at("Node", name), {"metadata": {"labels": labels}, "status": status, "spec": {}})


def settle(store: Store, start: Callable[[Manifest], bool] = lambda _: True) -> None:
    """Let everything follow from what is there: nothing is left to do afterwards."""
    for _ in range(10):
        before = store.version
        collect_garbage(store)
        count_quotas(store)
        run_jobs(store)
        place(store)
        for pod in store.all("Pod"):
            if pod["metadata"].get("deletionTimestamp"):
                end(store, pod)
            elif pod["spec"].get("nodeName") and start(pod):
                begin(store, pod)
        count_quotas(store)
        if store.version == before:
            return


def count_quotas(store: Store) -> None:
    """What the quota controller says."""
    for quota in store.all("ResourceQuota"):
        hard, used = quota["spec"].get("hard", {}), rules.usage(store, quota)
        told = {name: str(used.get(name, 0)) for name in hard if name.startswith("requests.")}
        store.set_status(of(quota), {"hard": hard, "used": told})


def run_jobs(store: Store) -> None:
    """What the job controller does."""
    for job in store.all("Job"):
        conditions = job.get("status", {}).get("conditions", [])
        if any(c["type"] in ("Complete", "Failed") for c in conditions):
            continue
        pods = pods_of(store, job)
        if job["spec"].get("suspend"):
            for pod in pods:
                if pod.get("status", {}).get("phase") not in ENDED:
                    store.delete(of(pod))
            continue
        _fill(store, job, pods)


def _fill(store: Store, job: Manifest, pods: list[Manifest]) -> None:
    done = sum(pod["status"].get("phase") == "Succeeded" for pod in pods)
    active = sum(pod["status"].get("phase") not in ENDED for pod in pods)
    if done >= job["spec"]["completions"]:
        told = {"type": "Complete", "status": "True", "lastTransitionTime": store.stamp()}
        store.set_status(of(job), {"conditions": [told], "succeeded": done})
        return
    wanted = min(job["spec"]["parallelism"], job["spec"]["completions"] - done)
    for _ in range(wanted - active):
        try:
            _create_pod(store, job)
        except refusals.Refused as refused:
            _tell(store, job, refused.message)
            return


def _create_pod(store: Store, job: Manifest) -> None:
    metadata, template = job["metadata"], job["spec"]["template"]
    owner = {
        "apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"],
        "controller": True,
    }  # fmt: skip
    name = f"{metadata['name']}-{store.version}"
    given = {**template.get("metadata", {}), "ownerReferences": [owner]}
    body = {"metadata": given, "spec": template["spec"]}
    store.create(at("Pod", name, metadata["namespace"]), body)


def _tell(store: Store, job: Manifest, message: str) -> None:
    metadata = job["metadata"]
    name = f"{metadata['name']}.refused"
    told = {
        "reason": "FailedCreate", "type": "Warning", "message": f"Error creating: {message}",
        "lastTimestamp": store.stamp(),
        "involvedObject": {"kind": "Job", "name": metadata["name"], "uid": metadata["uid"],
                           "namespace": metadata["namespace"]},
    }  # fmt: skip
    found = store.find("Event", metadata["namespace"], name)
    if found is None:
        store.create(at("Event", name, metadata["namespace"]), told)
    elif found.item["message"] != told["message"]:
        store.merge(at("Event", name, metadata["namespace"]), told)


def pods_of(store: Store, owner: Manifest) -> list[Manifest]:
    """The pods an object controls."""
    uid = owner["metadata"]["uid"]
    return [
        pod
        for pod in store.all("Pod", owner["metadata"]["namespace"])
        if any(one["uid"] == uid for one in pod["metadata"].get("ownerReferences", []))
    ]


def collect_garbage(store: Store) -> None:
    """What has lost its owner goes."""
    there = {item["metadata"]["uid"] for kind in PLACES for item in store.all(kind)}
    for kind in ("Job", "Pod", "ReplicaSet", "RayCluster"):
        for item in store.all(kind):
            above = [one["uid"] for one in item["metadata"].get("ownerReferences", [])]
            if above and not any(uid in there for uid in above):
                store.delete(of(item))


def place(store: Store) -> None:
    """What the scheduler does: the first node of the pool with enough free."""
    free = {node["metadata"]["name"]: _offer(node) for node in store.all("Node")}
    pools = {
        node["metadata"]["name"]: node["metadata"].get("labels", {}).get(POOL, "")
        for node in store.all("Node")
    }
    waiting = []
    for pod in store.all("Pod"):
        node = pod["spec"].get("nodeName")
        if node in free and pod["status"].get("phase") not in ENDED:
            _take(free[node], pod)
        elif not node and not pod["spec"].get("schedulingGates"):
            waiting.append(pod)
    for pod in waiting:
        pool = pod["spec"].get("nodeSelector", {}).get(POOL, "")
        found = next((n for n in free if pool in ("", pools[n]) and _fits(free[n], pod)), "")
        if found:
            _take(free[found], pod)
            bind(store, pod, found)
        else:
            _wait(store, pod, len(free))


def _offer(node: Manifest) -> dict[str, int]:
    offers = node["status"].get("allocatable", {})
    return {name: devices(value) for name, value in offers.items() if "/" in name}


def _needs(pod: Manifest) -> dict[str, int]:
    return {n: devices(v) for n, v in requests(pod["spec"]).items() if "/" in n}


def _fits(free: Mapping[str, int], pod: Manifest) -> bool:
    return all(free.get(name, 0) >= count for name, count in _needs(pod).items())


def _take(free: dict[str, int], pod: Manifest) -> None:
    for name, count in _needs(pod).items():
        free[name] = free.get(name, 0) - count


def bind(store: Store, pod: Manifest, node: str) -> None:
    """The pod goes to a node, now."""
    store.merge(of(pod), {"spec": {"nodeName": node}}, "kube-scheduler")
    told = {"type": "PodScheduled", "status": "True", "lastTransitionTime": store.stamp()}
    store.set_status(of(pod), {"conditions": [told]})


def _wait(store: Store, pod: Manifest, nodes: int) -> None:
    if condition(pod, "PodScheduled"):
        return
    name = next(iter(_needs(pod)), "cpu")
    said = f"0/{nodes} nodes are available: {nodes} Insufficient {name}."
    told = {
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said,
        "lastTransitionTime": store.stamp(),
    }  # fmt: skip
    store.set_status(of(pod), {"conditions": [told]})


def begin(store: Store, pod: Manifest) -> None:
    """The pod's containers run and are ready."""
    if pod["status"].get("phase") != "Pending":
        return
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": store.stamp()}
    running = [{"name": "main", "state": {"running": {"startedAt": store.stamp()}}}]
    conditions = [*pod["status"].get("conditions", []), ready]
    store.set_status(
        of(pod), {"phase": "Running", "conditions": conditions, "containerStatuses": running}
    )


def finish(store: Store, pod: Manifest, *, failed: bool = False) -> None:
    """The pod's containers end by themselves, now."""
    phase = "Failed" if failed else "Succeeded"
    store.set_status(of(pod), {"phase": phase, "containerStatuses": _terminated(store, pod)})


def end(store: Store, pod: Manifest) -> None:
    """The kubelet has ended a pod that was told to go: it is gone, now."""
    if pod["status"].get("phase") not in ENDED and pod["spec"].get("nodeName"):
        store.set_status(of(pod), {"containerStatuses": _terminated(store, pod)})
    store.drop(of(pod))


def _terminated(store: Store, pod: Manifest) -> list[dict[str, Any]]:
    statuses = pod["status"].get("containerStatuses", [])
    begun = statuses[0]["state"].get("running", {}).get("startedAt") if statuses else None
    times = {"startedAt": begun or store.stamp(), "finishedAt": store.stamp()}
    return [{"name": "main", "state": {"terminated": {"exitCode": 0, **times}}}]


def later(store: Store, seconds: float) -> None:
    """Let the server's clock go on."""
    store.skew += timedelta(seconds=seconds)
