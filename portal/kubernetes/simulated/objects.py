"""The simulated cluster's records as Kubernetes objects."""

from datetime import UTC, datetime
from typing import Any

from portal.inventory.models import ClusterMode
from portal.kubernetes import policies as guards
from portal.kubernetes.port import DEVICES, GATE, POOL
from portal.kubernetes.simulated import controller, fields, records
from portal.kubernetes.simulated.records import Job, Node, Pod, Stored
from portal.kubernetes.simulated.workshop import State

API_VERSIONS = {
    "Namespace": "v1",
    "ResourceQuota": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}
CAUSES = {
    records.PREEMPTED: "Preempted in order to admit a pod of a higher priority class",
    records.NODE_LOST: "The node was lost",
    records.EVICTED: "Eviction API: evicting",
}


def stamp(at: int) -> str:
    """An instant as Kubernetes writes it."""
    return datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(record: Node) -> dict[str, Any]:
    """A machine with its labels, allocatable amounts and readiness."""
    amounts = {
        "cpu": f"{record.cpu_milli}m",
        "memory": f"{record.memory_mib}Mi",
        record.resource: str(record.gpus),
        "pods": "110",
    }
    spec: dict[str, Any] = {}
    if record.cordoned:
        spec["unschedulable"] = True
    if not record.ready:
        spec["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    condition = {
        "type": "Ready",
        "status": "True" if record.ready else "Unknown",
        "reason": "KubeletReady" if record.ready else "NodeStatusUnknown",
        "lastTransitionTime": stamp(record.changed_at),
    }
    labels = {
        "kubernetes.io/hostname": record.name,
        POOL: record.pool,
        "nvidia.com/gpu.product": record.gpu_model,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(record, record.name, record.created_at, labels=labels),
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [condition]},
    }


def _metadata(
    record: Node | Job | Pod | Stored, name: str, created_at: int, **more: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "uid": record.uid,
        "resourceVersion": str(record.version),
        "creationTimestamp": stamp(created_at),
        **more,
    }


def _template(state: State, job: Job) -> dict[str, Any]:
    """The pod spec of a job."""
    spec = job.spec
    amounts = {
        "cpu": f"{spec.cpu_milli}m",
        "memory": f"{spec.memory_mib}Mi",
        state.resource_of(spec.pool): str(spec.gpus),
    }
    return {
        "nodeSelector": {POOL: spec.pool},
        "priorityClassName": job.priority_class,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": max(
            state.rules.grace_seconds, spec.save_seconds if spec.save_every else 0
        ),
        "containers": [
            {"name": "main", "image": "work", "resources": {"requests": amounts, "limits": amounts}}
        ],
    }


def job(state: State, record: Job) -> dict[str, Any]:
    """A job with its conditions."""
    annotations = {**record.spec.annotations, **record.marks}
    if record.saved_at is not None:
        annotations["evenshare.io/saved-at"] = stamp(record.saved_at)
    metadata = _metadata(
        record, record.spec.name, record.created_at,
        namespace=record.spec.namespace, annotations=annotations,
    )  # fmt: skip
    if record.state == records.DELETED and record.ended_at is not None:
        metadata["deletionTimestamp"] = stamp(record.ended_at)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": record.spec.tasks,
            "completions": record.spec.tasks,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "suspend": record.suspended,
            "template": _job_template(state, record),
        },
        "status": _job_status(state, record),
    }


def _job_template(state: State, record: Job) -> dict[str, Any]:
    """The template of a job's pods, with what it was given when it was let start."""
    spec = _template(state, record)
    if record.gated:
        spec["schedulingGates"] = [{"name": GATE}]
    if record.orders.get("affinity"):
        spec["affinity"] = record.orders["affinity"]
    annotations = record.orders.get("annotations")
    return (
        {"metadata": {"annotations": annotations}, "spec": spec} if annotations else {"spec": spec}
    )


def _job_status(state: State, record: Job) -> dict[str, Any]:
    status: dict[str, Any] = {"active": len(state.live.get(record.uid, ()))}
    if record.state in (records.COMPLETE, records.FAILED) and record.ended_at is not None:
        at = stamp(record.ended_at)
        condition = {"type": record.state, "status": "True", "lastTransitionTime": at}
        if record.state == records.FAILED:
            condition["reason"] = "BackoffLimitExceeded"
        else:
            status["completionTime"] = at
        status["conditions"] = [condition]
    return status


def pod(state: State, record: Pod, owner: Job) -> dict[str, Any]:
    """A pod with its node, devices, conditions and how its container ended."""
    annotations = {**owner.orders.get("annotations", {}), **record.orders.get("annotations", {})}
    if record.devices:
        annotations[DEVICES] = ",".join(map(str, record.devices))
    reference = {
        "apiVersion": "batch/v1", "kind": "Job", "name": owner.spec.name, "uid": owner.uid,
        "controller": True,
    }  # fmt: skip
    metadata = _metadata(
        record, record.name, record.created_at,
        namespace=owner.spec.namespace, annotations=annotations, ownerReferences=[reference],
    )  # fmt: skip
    if record.stopping_at is not None and record.gone_at is not None:
        metadata["deletionTimestamp"] = stamp(record.gone_at)
        metadata["deletionGracePeriodSeconds"] = record.gone_at - record.stopping_at
    spec = {**_template(state, owner), "priority": record.priority}
    if record.gated:
        spec["schedulingGates"] = [{"name": GATE}]
    affinity = record.orders.get("affinity") or owner.orders.get("affinity")
    if affinity:
        spec["affinity"] = affinity
    if record.node:
        spec["nodeName"] = record.node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": _pod_status(record),
    }


def _pod_status(record: Pod) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": _phase(record), "conditions": _conditions(record)}
    if record.ended_at is not None and record.scheduled_at is not None:
        ended: dict[str, Any] = {
            "finishedAt": stamp(record.ended_at),
            "exitCode": 0 if record.why == records.SUCCEEDED else 1,
            "reason": records.SUCCEEDED if record.why == records.SUCCEEDED else records.CRASHED,
        }
        if record.ready_at is not None:
            ended["startedAt"] = stamp(record.ready_at)
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    elif record.ready_at is not None:
        running = {"startedAt": stamp(record.ready_at)}
        status["containerStatuses"] = [{"name": "main", "state": {"running": running}}]
    elif record.scheduled_at is not None:
        waiting = {"reason": "ContainerCreating"}
        status["containerStatuses"] = [{"name": "main", "state": {"waiting": waiting}}]
    return status


def _phase(record: Pod) -> str:
    if record.ended_at is not None:
        return "Succeeded" if record.why == records.SUCCEEDED else "Failed"
    return "Pending" if record.ready_at is None else "Running"


def _conditions(record: Pod) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if record.scheduled_at is not None:
        found.append(_condition("PodScheduled", record.scheduled_at))
    elif record.gated:
        unscheduled = _condition("PodScheduled", record.created_at, status="False")
        message = "Scheduling is blocked due to non-empty scheduling gates"
        found.append({**unscheduled, "reason": "SchedulingGated", "message": message})
    elif record.message:
        unscheduled = _condition("PodScheduled", record.created_at, status="False")
        found.append({**unscheduled, "reason": "Unschedulable", "message": record.message})
    if record.ready_at is not None:
        mounted = _mounted_at(record.scheduled_at or record.ready_at, record.ready_at)
        found.append(_condition("PodReadyToStartContainers", mounted))
        found.append(_condition("Ready", record.ready_at))
    if record.stopping_at is not None and record.why in CAUSES:
        target = _condition("DisruptionTarget", record.stopping_at)
        message = record.message or CAUSES[record.why]
        found.append({**target, "reason": record.why, "message": message})
    return found


def _mounted_at(scheduled_at: int, ready_at: int) -> int:
    """Volumes and network take a fifth of a start; its image the rest."""
    return scheduled_at + (ready_at - scheduled_at) // 5


def _condition(kind: str, at: int, status: str = "True") -> dict[str, Any]:
    return {"type": kind, "status": status, "lastTransitionTime": stamp(at)}


def stored(state: State, record: Stored) -> dict[str, Any]:
    """A namespace, quota or priority class, with who manages which field."""
    metadata = _metadata(record, record.name, record.created_at)
    if record.namespace:
        metadata["namespace"] = record.namespace
    metadata.update(record.body.get("metadata", {}))
    if record.kind == "Namespace":
        metadata.setdefault("labels", {}).setdefault("kubernetes.io/metadata.name", record.name)
    metadata["managedFields"] = fields.managed(record, stamp)
    body = {key: value for key, value in record.body.items() if key != "metadata"}
    manifest = {
        "apiVersion": API_VERSIONS[record.kind], "kind": record.kind, "metadata": metadata, **body
    }  # fmt: skip
    if record.kind == "ResourceQuota":
        manifest["status"] = _quota_status(state, record)
    return manifest


def _quota_status(state: State, record: Stored) -> dict[str, Any]:
    """Only `requests.<resource>` is measured, as on a real server."""
    hard = dict(record.body.get("spec", {}).get("hard", {}))
    used = {
        name: str(state.quota_used(record, name.removeprefix("requests.")))
        for name in controller.hard_of(record)
        if name.startswith("requests.")
    }
    return {"hard": hard, "used": used}


def refusal(record: Job) -> dict[str, Any]:
    """The warning of a job whose pods were refused."""
    at = record.refused_at or record.created_at
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{record.spec.name}.{record.version:x}",
            "namespace": record.spec.namespace,
            "uid": f"{record.uid}-refused",
            "resourceVersion": str(record.version),
        },
        "type": "Warning",
        "reason": "FailedCreate",
        "message": f"Error creating: {record.refusal}",
        "lastTimestamp": stamp(at),
        "involvedObject": {
            "kind": "Job",
            "namespace": record.spec.namespace,
            "name": record.spec.name,
            "uid": record.uid,
        },
    }


def policies() -> list[dict[str, Any]]:
    """The admission policies and their bindings, as far as anybody asks for them."""
    found: list[dict[str, Any]] = []
    for name in guards.names(ClusterMode.ADMISSION):
        found.append({"kind": guards.POLICY, "metadata": {"name": name}})
        spec = {"policyName": name, "validationActions": ["Deny"]}
        found.append({"kind": guards.BINDING, "metadata": {"name": name}, "spec": spec})
    return found
