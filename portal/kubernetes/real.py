"""A real cluster behind the port, on requests and answers as plain JSON.

What a real server (1.36) taught:

- A list's items carry neither kind nor version; they are put back.
- A continue token that ran out answers 410 in the middle of a list; the list is then asked for
  once more, in one piece.
- An apply that carries a `resourceVersion` still creates an object that is not there any more; a
  `uid` beside it makes that the conflict it should be, so the uid of what was listed goes along.
- Without a watcher, what was deleted since the last look is told by a watch from that look's
  version, which the server ends after a second.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from portal.kubernetes import answers
from portal.kubernetes.client import Connection, Query
from portal.kubernetes.places import BUILT_IN, OWNERS, PLACES, Place
from portal.kubernetes.port import (
    FENCE,
    Gone,
    Listing,
    Manifest,
    NotFound,
    Right,
    StaleVersion,
)

PAGE = 500
LOOK_BACK_SECONDS = 1
REFUSED = "FailedCreate"
WRITTEN = frozenset({"Namespace", "Node", "PriorityClass", "ResourceQuota"})
RAY_REFUSED = frozenset({"FailedToCreateHeadPod", "FailedToCreateWorkerPod"})


class KubernetesCluster:
    """A Kubernetes API server as a `ClusterPort`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._groups: frozenset[str] | None = None
        self._uids: dict[tuple[str, str, str], str] = {}

    # -- reading -------------------------------------------------------------------------------

    def nodes(self) -> Listing:
        """Return the machines."""
        return self._list("Node")

    def namespaces(self) -> Listing:
        """Return the namespaces."""
        return self._list("Namespace")

    def quotas(self) -> Listing:
        """Return every ResourceQuota with its status."""
        return self._list("ResourceQuota")

    def priority_classes(self) -> Listing:
        """Return every PriorityClass."""
        return self._list("PriorityClass")

    def owners(self, *, since: str = "") -> Listing:
        """Return the owners of pods, of every kind this cluster has."""
        kinds = [kind for kind in OWNERS if self._has(PLACES[kind])]
        listings = [self._list(kind) for kind in kinds]
        items = tuple(item for listing in listings for item in listing.items)
        # The first list is the oldest: nothing after it can be missed by a look from there.
        return Listing(items, listings[0].version, self._deleted(kinds, since))

    def pods(self, *, since: str = "") -> Listing:
        """Return the pods, also finished ones that the cluster still keeps."""
        found = self._list("Pod")
        return Listing(found.items, found.version, self._deleted(["Pod"], since))

    def events(self) -> Listing:
        """Return the warnings of owners whose pods were refused."""
        found = self._list("Event", (("fieldSelector", f"reason={REFUSED}"),))
        if not self._has(PLACES["RayCluster"]):
            return found
        selector = "involvedObject.kind=RayCluster,type=Warning"
        of_ray = self._list("Event", (("fieldSelector", selector),))
        refused = tuple(item for item in of_ray.items if item.get("reason") in RAY_REFUSED)
        return Listing(found.items + refused, found.version)

    def policies(self) -> Listing:
        """Return the admission policies and their bindings."""
        kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        found = [self._list(kind) for kind in kinds]
        return Listing(found[0].items + found[1].items, found[0].version)

    def device_classes(self) -> Listing:
        """Return the device classes, where the cluster has such."""
        if not self._has(PLACES["DeviceClass"]):
            return Listing((), "")
        return self._list("DeviceClass")

    def denied(self, rights: Iterable[Right]) -> list[Right]:
        """Return which of these our account does not have, as the server itself judges."""
        groups = {version.partition("/")[0] for version in self._versions()}
        asked = [right for right in rights if not right.is_optional or right.group in groups]
        return [right for right in asked if not self._may(right)]

    def _may(self, right: Right) -> bool:
        resource, _, part = right.resource.partition("/")
        attributes = {
            "verb": right.verb, "group": right.group, "resource": resource, "subresource": part,
            "namespace": right.namespace, "name": right.name,
        }  # fmt: skip
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        told = self._connection.ask("POST", path, (), review)
        return bool(told.get("status", {}).get("allowed"))

    def _has(self, place: Place) -> bool:
        """Whether the cluster has the kind's group and version."""
        return place.group in BUILT_IN or place.version in self._versions()

    def _versions(self) -> frozenset[str]:
        """Every group and version the cluster has, but the core's."""
        if self._groups is None:
            told = self._connection.ask("GET", "/apis")
            self._groups = frozenset(
                str(version["groupVersion"])
                for group in told.get("groups", [])
                for version in group.get("versions", [])
            )
        return self._groups

    def _list(self, kind: str, query: Query = ()) -> Listing:
        place = PLACES[kind]
        try:
            return self._pages(kind, place, query, PAGE)
        except Gone:
            return self._pages(kind, place, query, 0)
        except NotFound:
            # The group is there without this kind: an operator of another version.
            return Listing((), "")

    def _pages(self, kind: str, place: Place, query: Query, limit: int) -> Listing:
        items: list[Manifest] = []
        token = ""
        while True:
            paging = [("limit", str(limit)), *([("continue", token)] if token else [])]
            page = self._connection.ask("GET", place.path(), [*query, *paging])
            for item in page.get("items") or []:
                item["apiVersion"], item["kind"] = place.version, kind
                items.append(item)
            self._remember(kind, items)
            metadata = page.get("metadata", {})
            token = metadata.get("continue", "")
            if not token:
                return Listing(tuple(items), str(metadata.get("resourceVersion", "")))

    def _remember(self, kind: str, items: Sequence[Manifest]) -> None:
        """Keep the uids of what we may write."""
        if kind in WRITTEN:
            for metadata in (item["metadata"] for item in items):
                self._uids[kind, metadata.get("namespace", ""), metadata["name"]] = metadata["uid"]

    def _deleted(self, kinds: Sequence[str], since: str) -> tuple[Manifest, ...]:
        """The last state of what was deleted since a version. Raises `Gone` when that is too old."""
        if not since:
            return ()
        with ThreadPoolExecutor(max_workers=len(kinds)) as pool:
            found = pool.map(lambda kind: list(self._look_back(kind, since)), kinds)
            return tuple(item for items in found for item in items)

    def _look_back(self, kind: str, since: str) -> Iterator[Manifest]:
        place = PLACES[kind]
        query = (
            ("watch", "1"),
            ("resourceVersion", since),
            ("timeoutSeconds", str(LOOK_BACK_SECONDS)),
        )
        for line in self._connection.lines(place.path(), query):
            if line.startswith(b'{"type":"DELETED"'):
                item = json.loads(line)["object"]
                yield {**item, "apiVersion": place.version, "kind": kind}
            elif line.startswith(b'{"type":"ERROR"'):
                told = json.loads(line)["object"]
                raise answers.error(int(told.get("code", 500)), {}, json.dumps(told).encode())

    # -- writing -------------------------------------------------------------------------------

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
        """Make the fields of `manifest` so, by server-side apply; see `ClusterPort.apply`."""
        metadata = dict(manifest["metadata"])
        if fence is not None:
            metadata["annotations"] = {**metadata.get("annotations", {}), FENCE: str(fence)}
        if resource_version:
            metadata["resourceVersion"] = resource_version
            metadata["uid"] = self._uid(manifest)
        place = PLACES[manifest["kind"]]
        query = [("fieldManager", manager)]
        query += [("force", "true")] if force else []
        query += [("dryRun", "All")] if dry_run else []
        return self._connection.ask(
            "PATCH",
            place.path(metadata.get("namespace", ""), metadata["name"]),
            query,
            {**manifest, "metadata": metadata},
            "application/apply-patch+yaml",
        )

    def _uid(self, manifest: Manifest) -> str:
        """The uid an object had when it was listed, or has now. Raises `StaleVersion`."""
        kind, metadata = manifest["kind"], manifest["metadata"]
        key = (kind, metadata.get("namespace", ""), metadata["name"])
        if key not in self._uids:
            try:
                found = self._connection.ask("GET", PLACES[kind].path(key[1], key[2]))
            except NotFound as error:
                raise StaleVersion(str(error)) from error
            self._uids[key] = found["metadata"]["uid"]
        return self._uids[key]

    def get(self, kind: str, namespace: str, name: str) -> Manifest:
        """Return one object as it is now."""
        return self._connection.ask("GET", PLACES[kind].path(namespace, name))

    def patch(
        self, kind: str, namespace: str, name: str, change: Manifest, *, manager: str,
        dry_run: bool = False,
    ) -> Manifest:  # fmt: skip
        """Change fields of somebody else's object by a merge patch; see `ClusterPort.patch`."""
        query = [("fieldManager", manager), *([("dryRun", "All")] if dry_run else [])]
        where = PLACES[kind].path(namespace, name)
        return self._connection.ask("PATCH", where, query, change, "application/merge-patch+json")

    def delete(
        self, kind: str, namespace: str, name: str, *, uid: str = "",
        grace_seconds: int | None = None,
    ) -> None:  # fmt: skip
        """Delete an object; with a `uid` only if it is still that one (`StaleVersion`)."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        options["propagationPolicy"] = "Background"
        options |= _only(uid, grace_seconds)
        self._connection.ask("DELETE", PLACES[kind].path(namespace, name), (), options)

    def evict(
        self, namespace: str, name: str, *, uid: str = "", grace_seconds: int | None = None
    ) -> None:
        """Ask a pod to go. `TooMany` while a disruption budget forbids it."""
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        }
        options = _only(uid, grace_seconds)
        if options:
            body["deleteOptions"] = options
        self._connection.ask("POST", PLACES["Pod"].path(namespace, name, "eviction"), (), body)


def _only(uid: str, grace_seconds: int | None) -> dict[str, Any]:
    """Options of a deletion: only of this object, with this grace."""
    options: dict[str, Any] = {"preconditions": {"uid": uid}} if uid else {}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options
