"""How far the start of a pod has come once its node is chosen: volumes, init, image, ready. Pure.

The kubelet says so in conditions and container states: `PodReadyToStartContainers` turns true when
volumes are mounted and the network stands, `Initialized` when the init containers are done, and a
container's `startedAt` comes after its image.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from portal.kubernetes.port import Manifest
from portal.kubernetes.times import told_moment

IMAGE_TROUBLE = frozenset(
    {
        "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
        "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed",
    }
)  # fmt: skip
AT_WORK = frozenset({"", "ContainerCreating", "PodInitializing"})
MOST_RESTARTS = 10**6


@dataclass(frozen=True, slots=True)
class Start:
    """When a pod's volumes, init containers and images were there; None is "not known"."""

    mounted_at: datetime | None = None
    initialized_at: datetime | None = None
    started_at: datetime | None = None
    restarts: int = 0


def times(item: Manifest) -> Start:
    """The steps of a start that are behind it, and how often its containers began anew."""
    if not item.get("spec", {}).get("nodeName"):
        return Start()
    has_init = bool(_steps(item))
    return Start(
        mounted_at=_since(item, "PodReadyToStartContainers"),
        initialized_at=_since(item, "Initialized") if has_init else None,
        started_at=_started_at(item),
        restarts=min(MOST_RESTARTS, sum(_restarts(item))),
    )


def waits_for(item: Manifest) -> tuple[str, str]:
    """The word for what a placed pod's start waits for, and the kubelet's own words; or blanks."""
    status = item.get("status", {})
    if status.get("phase", "Pending") != "Pending" or item["metadata"].get("deletionTimestamp"):
        return "", ""
    init = list(_waiting(status.get("initContainerStatuses")))
    main = list(_waiting(status.get("containerStatuses")))
    for reason, message in (*init, *main):
        if reason in IMAGE_TROUBLE:
            return "cluster_image", _said(reason, message)
        if reason not in AT_WORK:
            return "cluster_unknown", _said(reason, message)
    ready = _condition(status, "PodReadyToStartContainers")
    if ready.get("status") == "False":
        return "cluster_volume", str(ready.get("message", ""))
    if _steps(item) and _condition(status, "Initialized").get("status") != "True":
        return _during_init(status)
    return ("cluster_image", "") if main else ("", "")


def _during_init(status: Mapping[str, Any]) -> tuple[str, str]:
    """An init container at work, or the image of the next one."""
    states = [_state(one) for one in _mappings(status.get("initContainerStatuses"))]
    if any("running" in state for state in states):
        return "cluster_init", str(_condition(status, "Initialized").get("message", ""))
    return "cluster_image", ""


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    found = _mappings(status.get("conditions"))
    return next((one for one in found if one.get("type") == kind), {})


def _steps(item: Manifest) -> list[Mapping[str, Any]]:
    """Init containers that end; sidecars run on beside the others."""
    steps = _mappings(item.get("spec", {}).get("initContainers"))
    return [step for step in steps if step.get("restartPolicy") != "Always"]


def _mappings(found: object) -> list[Mapping[str, Any]]:
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found = status.get("state")
    return found if isinstance(found, Mapping) else {}


def _waiting(statuses: object) -> Iterator[tuple[str, str]]:
    """Reason and message of every container that waits."""
    for one in _mappings(statuses):
        waiting = _state(one).get("waiting")
        if isinstance(waiting, Mapping):
            yield str(waiting.get("reason") or ""), str(waiting.get("message") or "")


def _said(reason: str, message: str) -> str:
    return f"{reason}: {message}" if message else reason


def _since(item: Manifest, kind: str) -> datetime | None:
    told = _condition(item.get("status", {}), kind)
    return told_moment(told.get("lastTransitionTime")) if told.get("status") == "True" else None


def _started_at(item: Manifest) -> datetime | None:
    """When every container had begun for the first time; None while one has not."""
    begun: list[datetime] = []
    for one in _mappings(item.get("status", {}).get("containerStatuses")):
        states = [_state(one), one.get("lastState") or {}]
        times = [
            at
            for state in states
            for told in state.values()
            if isinstance(told, Mapping) and (at := told_moment(told.get("startedAt")))
        ]
        if not times:
            return None
        begun.append(min(times))
    return max(begun, default=None)


def _restarts(item: Manifest) -> Iterator[int]:
    status = item.get("status", {})
    for name in ("containerStatuses", "initContainerStatuses"):
        for one in _mappings(status.get(name)):
            count = one.get("restartCount")
            yield count if isinstance(count, int) and count > 0 else 0
