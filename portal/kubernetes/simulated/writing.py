"""Writes to the simulated cluster, and what its server refuses."""

from collections.abc import Mapping
from typing import Any

from portal.kubernetes.port import FENCE, NotFound, Refused, StaleVersion
from portal.kubernetes.simulated import chance, fields, lifecycle, records
from portal.kubernetes.simulated.records import Job, Pod, Stored
from portal.kubernetes.simulated.workshop import State

CLUSTER_WIDE = frozenset({"Namespace", "PriorityClass"})
KNOWN = CLUSTER_WIDE | {"ResourceQuota"}
IMMUTABLE = ("value", "preemptionPolicy")


def apply(
    state: State,
    manifest: Mapping[str, Any],
    *,
    manager: str,
    fence: int | None,
    resource_version: str,
    force: bool,
) -> Stored:
    """Make the fields of a manifest so. Raises what `ClusterPort.apply` says."""
    kind, namespace, name = _key(state, manifest)
    found = state.stored.get((kind, namespace, name))
    if resource_version and (found is None or str(found.version) != resource_version):
        raise StaleVersion(
            f'Operation cannot be fulfilled on {kind} "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )
    _validate(kind, manifest, found)
    stored = found or _new(state, kind, namespace, name)
    if fields.merge(stored, _fenced(manifest, fence), manager, force, state.clock) or not found:
        state.put(stored)
        state.touch(stored)
        _wake(state, kind, namespace)
    return stored


def _key(state: State, manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    kind = str(manifest.get("kind", ""))
    metadata = manifest.get("metadata", {})
    name, namespace = str(metadata.get("name", "")), str(metadata.get("namespace", ""))
    if kind not in KNOWN:
        raise Refused(f"this cluster takes no {kind or 'object without a kind'}")
    if not name:
        raise Refused(f"{kind}: metadata.name: Required value")
    if (kind in CLUSTER_WIDE) == bool(namespace):
        raise Refused(f"{kind} {name}: metadata.namespace is missing or not allowed")
    if namespace and ("Namespace", "", namespace) not in state.stored:
        raise NotFound(f'namespaces "{namespace}" not found')
    return kind, namespace, name


def _fenced(manifest: Mapping[str, Any], fence: int | None) -> dict[str, Any]:
    """The manifest with the writer's fence beside it."""
    if fence is None:
        return dict(manifest)
    metadata = dict(manifest.get("metadata", {}))
    metadata["annotations"] = {**metadata.get("annotations", {}), FENCE: str(fence)}
    return {**manifest, "metadata": metadata}


def _validate(kind: str, manifest: Mapping[str, Any], found: Stored | None) -> None:
    if kind == "ResourceQuota":
        for resource, value in manifest.get("spec", {}).get("hard", {}).items():
            if not str(value).isdigit():
                raise Refused(
                    f"spec.hard[{resource}]: Invalid value: {value!r}: must be an integer"
                )
    if kind == "PriorityClass" and found is not None:
        for field in IMMUTABLE:
            if field in manifest and manifest[field] != found.body.get(field):
                raise Refused(f"{field}: Forbidden: may not be changed in an update")


def _new(state: State, kind: str, namespace: str, name: str) -> Stored:
    return Stored(
        uid=chance.uid(state.rules.seed, kind, namespace, name, state.version),
        kind=kind, namespace=namespace, name=name, created_at=state.clock, body={},
    )  # fmt: skip


def _wake(state: State, kind: str, namespace: str) -> None:
    """Jobs that were refused are tried again after a change that may let them in."""
    at = state.clock + state.rules.retry_seconds
    if kind == "ResourceQuota":
        state.retry(namespace, at)
    elif kind == "PriorityClass":
        for job in state.jobs.values():
            state.retry(job.spec.namespace, at)


def delete(
    state: State, kind: str, namespace: str, name: str, uid: str, seconds: int | None = None
) -> None:
    """Delete a written object, a job with its pods, or a pod."""
    found = find(state, kind, namespace, name)
    if uid and found.uid != uid:
        raise StaleVersion(f'{kind} "{name}" is not {uid} any more')
    match found:
        case Job():
            if found.state == records.ACTIVE:
                lifecycle.delete(state, found, state.clock)
        case Pod():
            job = state.jobs[found.job]
            lifecycle.stop(state, job, state.clock, records.EVICTED, seconds=seconds)
        case Stored():
            if kind == "Namespace":
                raise Refused("this cluster keeps its namespaces")
            state.drop(found)
            _wake(state, kind, namespace)


def find(state: State, kind: str, namespace: str, name: str) -> Job | Pod | Stored:
    """An object by its name. Raises `NotFound`."""
    found: Job | Pod | Stored | None = state.stored.get((kind, namespace, name))
    if kind == "Job":
        found = next((j for j in state.jobs.values() if _is(j, namespace, name)), None)
    elif kind == "Pod":
        found = find_pod(state, namespace, name)
    if found is None:
        raise NotFound(f'{kind} "{name}" not found')
    return found


def _is(job: Job, namespace: str, name: str) -> bool:
    return job.spec.name == name and job.spec.namespace == namespace


def find_pod(state: State, namespace: str, name: str) -> Pod | None:
    """A pod that has not ended, by name."""
    for pod in state.pods.values():
        if pod.name == name and pod.ended_at is None:
            return pod if state.jobs[pod.job].spec.namespace == namespace else None
    return None
