"""What is kept of an object: all that somebody reads, and none of the rest.

A pod as the server tells it is ten kilobytes, most of it who set which field when and how its
containers are run. What is kept is a tenth of that, and strings that come again are kept once.
Pods without devices only take room on a node, so of them only that is kept. Pure.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from portal.kubernetes import placing, pods
from portal.kubernetes.port import Manifest

MARKS = ("evenshare.io/", "ray.io/", "kueue.x-k8s.io/")
"""Labels and annotations somebody reads begin with one of these."""
LONGEST = 8000
SHORT = 100
MOST_SHARED = 20_000

METADATA = frozenset(
    {
        "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
        "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
    }
)  # fmt: skip
CONTAINER = frozenset({"name", "resources", "restartPolicy"})
STATE_OF_CONTAINER = frozenset({"name", "state", "lastState", "ready", "started", "restartCount"})
NOT_OF_POD = frozenset(
    {
        "volumes", "serviceAccount", "serviceAccountName", "securityContext", "dnsPolicy",
        "dnsConfig", "hostname", "subdomain", "hostAliases", "imagePullSecrets",
        "enableServiceLinks", "automountServiceAccountToken", "preemptionPolicy",
        "shareProcessNamespace", "readinessGates", "ephemeralContainers",
    }
)  # fmt: skip
NOT_OF_POD_STATUS = frozenset(
    {
        "hostIP",
        "hostIPs",
        "podIP",
        "podIPs",
        "qosClass",
        "observedGeneration",
        "resourceClaimStatuses",
    }
)
BEATS = frozenset({"lastHeartbeatTime", "lastProbeTime", "lastUpdateTime", "observedGeneration"})
NODE_STATUS = frozenset({"allocatable", "conditions"})


def trimmed(item: Manifest) -> Manifest:
    """An object with what is read of it."""
    return _TRIMS.get(str(item["kind"]), _owner)(item)


def is_read(item: Manifest) -> bool:
    """Whether anybody reads an owner: one whose own templates ask for no device wants nothing."""
    return str(item["kind"]) not in _PLAIN_OWNERS or _any_pod(item.get("spec") or {})


def asks_for_devices(item: Manifest) -> bool:
    """Whether a pod is more than something that takes room on a node."""
    return _asks(item.get("spec") or {})


def filler(item: Manifest) -> Manifest | None:
    """What a pod without devices takes of its node; None while it takes nothing."""
    spec = item.get("spec") or {}
    node, phase = spec.get("nodeName"), (item.get("status") or {}).get("phase", "")
    if not node or phase in pods.ENDED:
        return None
    metadata = _only(item["metadata"], frozenset({"name", "namespace", "uid", "resourceVersion"}))
    taken = {"nodeName": node, "containers": [{"resources": {"requests": _plain(spec)}}]}
    return _manifest(item, {"metadata": metadata, "spec": taken, "status": {"phase": phase}})


_shared: dict[str, Any] = {}
"""Parts that came before, by their text: pods of one job differ in little but their names."""


def _once(value: Any) -> Any:
    """The same part, if it came before; whoever reads one must not change it."""
    if not isinstance(value, dict | list) or not value:
        return value
    key = repr(value)
    found = _shared.get(key)
    if found is None:
        if len(_shared) >= MOST_SHARED:
            _shared.clear()
        found = _shared[key] = _kept(value)
    return found


def _kept(value: Any) -> Any:
    """A copy whose keys and short strings exist once."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= SHORT else value[:LONGEST]
    if isinstance(value, Mapping):
        return {sys.intern(key): _kept(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_kept(part) for part in value]
    return value


def _only(part: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name in names}


def _without(part: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in names}


def _identity(item: Manifest) -> dict[str, Any]:
    return {"apiVersion": item.get("apiVersion", ""), "kind": item["kind"]}


def _metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    found = _only(given, METADATA)
    for name in ("labels", "annotations"):
        marks = {k: v for k, v in (given.get(name) or {}).items() if k.startswith(MARKS)}
        if marks:
            found[name] = marks
    above = [one for one in given.get("ownerReferences") or [] if one.get("controller")]
    if above:
        found["ownerReferences"] = above
    return found


def _pod(item: Manifest) -> Manifest:
    spec = item.get("spec") or {}
    status = _without(item.get("status") or {}, NOT_OF_POD_STATUS)
    for name in ("containerStatuses", "initContainerStatuses"):
        if status.get(name):
            status[name] = [_only(one, STATE_OF_CONTAINER) for one in status[name]]
    status["conditions"] = [_without(one, BEATS) for one in status.get("conditions") or []]
    found = {"metadata": _metadata(item["metadata"]), "spec": _pod_spec(spec), "status": status}
    return _manifest(item, found)


def _plain(spec: Mapping[str, Any]) -> dict[str, Any]:
    amounts = pods.requests(spec)
    return {name: amounts[name] for name in ("cpu", "memory") if name in amounts}


def _asks(spec: Mapping[str, Any]) -> bool:
    return any(placing.is_device(name) for name in pods.requests(spec))


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    found = _without(spec, NOT_OF_POD)
    for name in ("containers", "initContainers"):
        if isinstance(found.get(name), list):
            found[name] = [_only(one, CONTAINER) for one in found[name]]
    return found


def _owner(item: Manifest) -> Manifest:
    """What wants pods: its own words, and of each template what a pod's spec keeps."""
    spec = item.get("spec") or {}
    status = item.get("status") or {}
    conditions = [_without(one, BEATS) for one in status.get("conditions") or []]
    found = {
        "metadata": _metadata(item["metadata"]),
        "spec": _template(spec),
        "status": {**status, "conditions": conditions},
    }
    return _manifest(item, found)


_PLAIN_OWNERS = frozenset({"Job", "ReplicaSet", "Deployment", "StatefulSet"})
"""Kinds whose demand stands in their own templates, so that one without devices has none."""


def _template(value: Any) -> Any:
    """A spec in which every pod's spec is cut, however deep it stands."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            return _pod_spec(value)
        return {
            name: _metadata(part) if name == "metadata" else _template(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_template(part) for part in value]
    return value


def _any_pod(value: Any) -> bool:
    """Whether a pod's spec that asks for devices stands anywhere in it."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            return _asks(value)
        return any(_any_pod(part) for part in value.values())
    return isinstance(value, list) and any(_any_pod(part) for part in value)


def _node(item: Manifest) -> Manifest:
    metadata = _only(item["metadata"], METADATA)
    metadata["labels"] = item["metadata"].get("labels") or {}
    status = _only(item.get("status") or {}, NODE_STATUS)
    status["conditions"] = [_without(one, BEATS) for one in status.get("conditions") or []]
    spec = _only(item.get("spec") or {}, frozenset({"taints", "unschedulable"}))
    return _manifest(item, {"metadata": metadata, "spec": spec, "status": status})


def _event(item: Manifest) -> Manifest:
    """Why pods of an owner were refused."""
    metadata = _only(item["metadata"], frozenset({"name", "namespace", "uid", "resourceVersion"}))
    told = ("involvedObject", "reason", "message", "type", "lastTimestamp", "eventTime", "count")
    return _manifest(item, {"metadata": metadata, **_only(item, frozenset(told))})


def _manifest(item: Manifest, found: Mapping[str, Any]) -> Manifest:
    """The object, in which every part of a part exists once."""
    return {
        sys.intern(name): (
            {sys.intern(key): _once(part) if isinstance(part, dict | list) else _kept(part)
             for key, part in value.items()}
            if isinstance(value, Mapping) else _kept(value)
        )
        for name, value in {**_identity(item), **found}.items()
    }  # fmt: skip


_TRIMS: dict[str, Callable[[Manifest], Manifest]] = {
    "Pod": _pod,
    "Node": _node,
    "Event": _event,
}
