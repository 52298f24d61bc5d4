"""Changes to jobs and pods: suspended, let start, a gate taken away; and notes on namespaces.

As on a real server, a job's template may change only while it is suspended, a pod's placement only
while it is gated, and the class a pod carries is the one its template's mark names.
"""

from collections.abc import Mapping
from typing import Any

from portal.kubernetes.port import ADMITTED, POOL, Refused, StaleVersion
from portal.kubernetes.simulated import controller, lifecycle, records, writing
from portal.kubernetes.simulated.records import Job, Pod, Stored
from portal.kubernetes.simulated.workshop import State

Change = Mapping[str, Any]


def patch(state: State, kind: str, namespace: str, name: str, change: Change) -> Job | Pod | Stored:
    """Change an object. Raises what `ClusterPort.patch` says."""
    found = writing.find(state, kind, namespace, name)
    metadata = change.get("metadata", {})
    if metadata.get("uid", found.uid) != found.uid:
        raise StaleVersion(f'{kind} "{name}" is not {metadata["uid"]} any more')
    if metadata.get("resourceVersion", str(found.version)) != str(found.version):
        raise StaleVersion(f'{kind} "{name}": the object has been modified')
    match found:
        case Job():
            _change_job(state, found, change)
        case Pod():
            _ungate(state, found, change)
        case Stored():
            _annotate(state, found, change)
    return found


def _annotate(state: State, stored: Stored, change: Change) -> None:
    given = stored.body.setdefault("metadata", {})
    notes = change.get("metadata", {}).get("annotations", {})
    given["annotations"] = merged(given.get("annotations", {}), notes)
    state.touch(stored)


def _change_job(state: State, job: Job, change: Change) -> None:
    spec = change.get("spec", {})
    template = spec.get("template", {})
    unknown = set(spec) - {"suspend", "template"}
    if unknown:
        raise Refused(f"Job {job.spec.name}: spec.{min(unknown)}: this cluster keeps it as it is")
    if template and not job.suspended:
        raise Refused(f"Job {job.spec.name}: spec.template: field is immutable")
    job.marks = merged(job.marks, change.get("metadata", {}).get("annotations", {}))
    if template:
        _check_pool(job, template.get("spec", {}))
        job.orders = _orders(job.orders, template.get("metadata", {}), template.get("spec", {}))
        if "schedulingGates" in template.get("spec", {}):
            job.gated = bool(template["spec"]["schedulingGates"])
    state.touch(job)
    if "suspend" in spec and spec["suspend"] != job.suspended and job.state == records.ACTIVE:
        job.suspended = spec["suspend"]
        if job.suspended:
            lifecycle.stop(state, job, state.clock, records.SUSPENDED)
        else:
            carried = job.orders.get("annotations", {}).get(ADMITTED)
            job.priority_class = carried or job.priority_class
            controller.reconcile(state, job, state.clock)


def _ungate(state: State, pod: Pod, change: Change) -> None:
    spec = change.get("spec", {})
    job = state.jobs[pod.job]
    if not pod.gated and set(spec) & {"nodeSelector", "affinity", "schedulingGates"}:
        raise Refused(f"Pod {pod.name}: spec: may not change once the pod is not gated")
    _check_pool(job, spec)
    pod.orders = _orders(pod.orders, change.get("metadata", {}), spec)
    if "schedulingGates" in spec:
        pod.gated = bool(spec["schedulingGates"])
    state.touch(pod)
    state.stirred.add(job.spec.pool)


def _check_pool(job: Job, spec: Change) -> None:
    """A job of this cluster stays in the pool it was made for."""
    pool = (spec.get("nodeSelector") or {}).get(POOL, job.spec.pool)
    if pool != job.spec.pool:
        raise Refused(f"Job {job.spec.name} asks for devices of {job.spec.pool}, not of {pool}")


def _orders(before: Change, metadata: Change, spec: Change) -> dict[str, Any]:
    after = {
        "annotations": merged(before.get("annotations", {}), metadata.get("annotations", {})),
        "affinity": spec.get("affinity", before.get("affinity")),
    }
    return {key: value for key, value in after.items() if value}


def merged(before: Change, change: Change) -> dict[str, Any]:
    """A flat mapping after a merge patch: None takes a key away."""
    after = {**before, **change}
    return {key: value for key, value in after.items() if value is not None}
