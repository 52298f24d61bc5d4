"""The port every cluster stands behind: objects as Kubernetes writes them, and a few verbs.

Objects are plain manifests (dictionaries) with `metadata.uid`, `metadata.resourceVersion` and
`metadata.managedFields`; whoever reads one must not change it. A `Listing` also carries the last
state of what was deleted since the version the reader last saw, as a watch would have told it, so
that a pod that came and went between two reads is still known to the second. A port that cannot
tell leaves `deleted` empty; what is missing is then closed at its last sight.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Manifest = Mapping[str, Any]

MANAGER = "evenshare"
FENCE = "evenshare.io/fence"
POOL = "evenshare.io/pool"
TEAM = "evenshare.io/team"
DEVICES = "evenshare.io/devices"
GATE = "evenshare.io/admission"
"""The scheduling gate that keeps a pod until we let it start."""
CHARGED = "evenshare.io/charged-to"
ADMITTED = "evenshare.io/admitted"
"""On a pod template that was let start: the priority class its pods carry."""
RUNTIME = "evenshare.io/runtime-class"
"""On a pod template that was let start: the RuntimeClass its pods are isolated by."""


class ClusterError(Exception):
    """What a cluster, or the way to it, answers instead of doing as asked.

    ClusterError
    ├── Unreachable       no answer: network, time-out, wrong address, a server that is not up
    ├── TooMany           429: come back after `retry_after` seconds
    ├── Gone              410: the version asked from is too old; list anew
    ├── NotFound          404
    ├── StaleVersion      409: the object is not at the resourceVersion the write was made for
    ├── FieldConflict     409: another manager owns a field; `owners` says which and who
    └── Refused           403, 422: quota, policy, immutable field, invalid object
    """


class Unreachable(ClusterError):
    """The cluster gave no answer."""


class TooMany(ClusterError):
    """The cluster asks for patience."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Gone(ClusterError):
    """The version asked from is too old to tell what changed since."""


class NotFound(ClusterError):
    """There is no such object."""


class StaleVersion(ClusterError):
    """The object has moved on since it was read."""


class FieldConflict(ClusterError):
    """Fields belong to another manager. `owners` maps a field to the manager's name."""

    def __init__(self, message: str, owners: Mapping[str, str]) -> None:
        super().__init__(message)
        self.owners = dict(owners)


class Refused(ClusterError):
    """The cluster's own rules say no."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects of one kind as of `version`, and the last state of those deleted since `since`."""

    items: tuple[Manifest, ...]
    version: str
    deleted: tuple[Manifest, ...] = ()


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource (`pods/eviction`), of the whole cluster or of one named object."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    is_optional: bool = False
    """Not every cluster has the group."""

    def __str__(self) -> str:
        where = f".{self.group}" if self.group else ""
        named = f" {self.namespace}/{self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{where}{named}"


class ClusterPort(Protocol):
    """What the portal asks of a cluster, real or simulated. Every call may raise `ClusterError`."""

    def nodes(self) -> Listing:
        """Return the machines."""
        ...

    def namespaces(self) -> Listing:
        """Return the namespaces."""
        ...

    def quotas(self) -> Listing:
        """Return every ResourceQuota with its status."""
        ...

    def priority_classes(self) -> Listing:
        """Return every PriorityClass."""
        ...

    def owners(self, *, since: str = "") -> Listing:
        """Return what pods may belong to: Jobs and, where there are any, other kinds."""
        ...

    def pods(self, *, since: str = "") -> Listing:
        """Return the pods, also finished ones that the cluster still keeps."""
        ...

    def events(self) -> Listing:
        """Return the warnings of owners whose pods were refused (reason FailedCreate)."""
        ...

    def policies(self) -> Listing:
        """Return the admission policies and their bindings."""
        ...

    def device_classes(self) -> Listing:
        """Return what devices can be claimed by (dynamic resource allocation); may be none."""
        ...

    def denied(self, rights: Iterable[Right]) -> list[Right]:
        """Return which of these our account does not have; nothing of groups that are not there."""
        ...

    def apply(
        self,
        manifest: Manifest,
        *,
        manager: str,
        fence: int | None = None,
        resource_version: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Manifest:
        """Make the fields of `manifest` so, as `manager`, and return the object.

        Server-side apply: fields left out that this manager set before are removed, fields of
        other managers with another value raise `FieldConflict` unless `force`. With a
        `resource_version` the object must still be at it (`StaleVersion`). `fence` is written
        beside as an annotation.
        """
        ...

    def get(self, kind: str, namespace: str, name: str) -> Manifest:
        """Return one object as it is now (`NotFound`)."""
        ...

    def patch(
        self, kind: str, namespace: str, name: str, change: Manifest, *, manager: str,
        dry_run: bool = False,
    ) -> Manifest:  # fmt: skip
        """Change fields of an object that belongs to somebody else, and return it.

        A merge patch: None removes a field, a list is replaced whole. With `metadata.uid` and
        `metadata.resourceVersion` in `change` the object must be that one, at that version
        (`StaleVersion`); one that is gone is never made anew (`NotFound`).
        """
        ...

    def delete(
        self, kind: str, namespace: str, name: str, *, uid: str = "",
        grace_seconds: int | None = None,
    ) -> None:  # fmt: skip
        """Delete an object; with a `uid` only if it is still that one (`StaleVersion`)."""
        ...

    def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Ask a pod to go, as the eviction API does; its devices are free when it is gone.

        `TooMany` while a disruption budget forbids it; with a `uid` only if it is still that one.
        """
        ...
