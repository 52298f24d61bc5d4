"""The objects of the fake server: versions, what happened, who owns which field.

Every write gets the next version of the whole server and stands in a log that watches read from;
`compact` forgets the log, so that whoever asks from before it is told 410.
"""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from portal.kubernetes.port import FENCE, FieldConflict
from portal.kubernetes.simulated import fields
from portal.kubernetes.simulated.records import Stored
from tests.api_server import refusals, rules
from tests.api_server.places import Target

Manifest = dict[str, Any]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Happened:
    """A line of the log: the object after it, or as it was last, as the text that goes out."""

    version: int
    type: str
    kind: str
    namespace: str
    item: Manifest
    text: bytes


@dataclass(slots=True)
class Kept:
    """An object: its manifest as it goes out, whose its fields are, and the text of it."""

    item: Manifest
    stored: Stored
    text: bytes = b""


@dataclass
class Store:
    """All there is. Every method is one whole step."""

    skew: timedelta = timedelta(0)
    shelves: defaultdict[tuple[str, str], dict[str, Kept]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    log: list[Happened] = field(default_factory=list)
    version: int = 100
    oldest: int = 100
    vain: list[Key] = field(default_factory=list)
    writes: int = 0
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._uids = count(1)

    # -- reading -------------------------------------------------------------------------------

    def stamp(self) -> str:
        """The server's time, as Kubernetes writes it."""
        return f"{self.now() + self.skew:%Y-%m-%dT%H:%M:%SZ}"

    def get(self, target: Target) -> Manifest:
        """An object. Refused with 404."""
        return self._kept(target).item

    def all(self, kind: str, namespace: str = "") -> list[Manifest]:
        """The objects of a kind, by namespace and name."""
        with self.changed:
            return [kept.item for kept in self.kept(kind, namespace)]

    def kept(self, kind: str, namespace: str = "") -> list[Kept]:
        """The same with their texts."""
        with self.changed:
            if namespace:
                shelf = self.shelves.get((kind, namespace), {})
                return [kept for _, kept in sorted(shelf.items())]
            places = sorted(key for key in self.shelves if key[0] == kind)
            return [kept for key in places for _, kept in sorted(self.shelves[key].items())]

    def find(self, kind: str, namespace: str, name: str) -> Kept | None:
        """An object, if it is there."""
        return self.shelves.get((kind, namespace), {}).get(name)

    def since(self, version: int) -> list[Happened]:
        """What happened after a version. Refused with 410."""
        with self.changed:
            if version < self.oldest:
                raise refusals.expired(version, self.oldest)
            begin = len(self.log)
            while begin and self.log[begin - 1].version > version:
                begin -= 1
            return self.log[begin:]

    def compact(self) -> None:
        """Forget what happened until now."""
        with self.changed:
            self.log.clear()
            self.version += 1
            self.oldest = self.version
            self.changed.notify_all()

    def _kept(self, target: Target) -> Kept:
        with self.changed:
            kept = self.find(target.kind, target.namespace, target.name)
            if kept is None:
                raise refusals.missing(target)
            return kept

    # -- writing -------------------------------------------------------------------------------

    def create(self, target: Target, body: Manifest, manager: str = "test") -> Manifest:
        """Make a new object."""
        with self.changed:
            self._check_namespace(target)
            if self.find(target.kind, target.namespace, target.name):
                raise refusals.Refused(
                    409, f'{target.resource} "{target.name}" already exists', reason="AlreadyExists"
                )
            return self._make(target, body, manager)

    def _make(self, target: Target, body: Manifest, manager: str, *, dry: bool = False) -> Manifest:
        body = {**deepcopy(body), "apiVersion": target.place.version, "kind": target.kind}
        said = [path for path, _ in fields.leaves(body)]
        rules.default(target, body)
        rules.check_new(self, target, body)
        stored = Stored(
            uid=f"00000000-0000-4000-8000-{next(self._uids):012d}", kind=target.kind,
            namespace=target.namespace, name=target.name, created_at=0, body={},
        )  # fmt: skip
        given = body.get("metadata", {})
        metadata = {**given, "name": target.name, "uid": stored.uid}
        metadata.setdefault("creationTimestamp", self.stamp())
        metadata.pop("managedFields", None)
        if target.namespace:
            metadata["namespace"] = target.namespace
        item = {**body, "metadata": {**metadata, "generation": 1}}
        stored.body = item
        at = int(self.now().timestamp())
        stored.owners = {path: {manager: at} for path in said}
        kept = Kept(item, stored)
        return self._keep(target, kept, "ADDED") if not dry else item

    def replace(self, target: Target, body: Manifest, manager: str = "test") -> Manifest:
        """Put another body in place; only if it is still at the version the body carries."""
        with self.changed:
            kept = self._kept(target)
            self._check_version(target, body, kept)
            return self._change(target, kept, deepcopy(body), manager)

    def merge(self, target: Target, patch: Manifest, manager: str = "test") -> Manifest:
        """Change some fields; null removes one."""
        with self.changed:
            kept = self._kept(target)
            self._check_version(target, patch, kept)
            body = _merged(kept.item, patch)
            return self._change(target, kept, body, manager)

    def apply(self, target: Target, body: Manifest, manager: str, *, force: bool,
              dry: bool = False) -> Manifest:  # fmt: skip
        """Server-side apply."""
        with self.changed:
            self._check_namespace(target)
            kept = self.find(target.kind, target.namespace, target.name)
            if kept is None:
                if body.get("metadata", {}).get("uid"):
                    raise refusals.another(target)
                return self._make(target, _bare(body), manager, dry=dry)
            self._check_version(target, body, kept)
            stored = deepcopy(kept.stored)
            at = int(self.now().timestamp())
            try:
                changed = fields.merge(stored, _bare(body), manager, force, at)
            except FieldConflict as error:
                raise refusals.conflict(error.owners) from error
            rules.check_change(target, kept.item, stored.body)
            if dry:
                return dict(stored.body)
            if not changed or _said(stored.body) == _said(kept.item):
                self.vain.append((target.kind, target.namespace, target.name))
            if not changed:
                return kept.item
            kept.stored = stored
            kept.item = {**stored.body, "status": kept.item.get("status", {})}
            stored.body = kept.item
            return self._keep(target, kept, "MODIFIED")

    def delete(self, target: Target, *, uid: str = "", grace: int | None = None) -> Manifest:
        """Delete an object: a bound pod when its grace has passed, one with finalizers later."""
        with self.changed:
            kept = self._kept(target)
            if uid and kept.item["metadata"]["uid"] != uid:
                raise refusals.another(target)
            seconds = rules.grace(kept.item) if grace is None else grace
            waits = target.kind == "Pod" and seconds and kept.item["spec"].get("nodeName")
            if waits or kept.item["metadata"].get("finalizers"):
                return self._mark_deleted(target, kept, seconds)
            return self.drop(target)

    def _mark_deleted(self, target: Target, kept: Kept, seconds: int) -> Manifest:
        if kept.item["metadata"].get("deletionTimestamp"):
            return kept.item
        gone = self.now() + self.skew + timedelta(seconds=seconds)
        marked: Manifest = {"deletionTimestamp": f"{gone:%Y-%m-%dT%H:%M:%SZ}"}
        marked |= {"deletionGracePeriodSeconds": seconds} if target.kind == "Pod" else {}
        kept.item = {**kept.item, "metadata": {**kept.item["metadata"], **marked}}
        kept.stored.body = kept.item
        return self._keep(target, kept, "MODIFIED")

    def drop(self, target: Target) -> Manifest:
        """It is gone."""
        with self.changed:
            kept = self.shelves[target.kind, target.namespace].pop(target.name)
            self._happen(target, kept, "DELETED")
            return kept.item

    def set_status(self, target: Target, status: Manifest) -> Manifest:
        """What a controller or a kubelet says of an object."""
        with self.changed:
            kept = self._kept(target)
            merged = _merged(kept.item.get("status", {}), status)
            if merged == kept.item.get("status", {}):
                return kept.item
            kept.item = {**kept.item, "status": merged}
            kept.stored.body = kept.item
            return self._keep(target, kept, "MODIFIED")

    def _change(self, target: Target, kept: Kept, body: Manifest, manager: str) -> Manifest:
        rules.check_change(target, kept.item, body)
        own = kept.item["metadata"]
        body["metadata"] = {**body.get("metadata", {}), "uid": own["uid"]}
        for name in ("name", "namespace", "creationTimestamp", "resourceVersion", "generation"):
            if name in own:
                body["metadata"][name] = own[name]
        body["metadata"].pop("managedFields", None)
        if body == kept.item:
            return kept.item
        before = dict(fields.leaves(kept.item))
        at = int(self.now().timestamp())
        for path, value in fields.leaves(body):
            if before.get(path) != value:
                kept.stored.owners[path] = {manager: at}
        kept.item = kept.stored.body = body
        metadata = body["metadata"]
        waited = metadata.get("deletionTimestamp") and target.kind != "Pod"
        if waited and not metadata.get("finalizers"):
            return self.drop(target)
        return self._keep(target, kept, "MODIFIED")

    def _keep(self, target: Target, kept: Kept, type_: str) -> Manifest:
        self.shelves[target.kind, target.namespace][target.name] = kept
        self._happen(target, kept, type_)
        return kept.item

    def _happen(self, target: Target, kept: Kept, type_: str) -> None:
        self.version += 1
        self.writes += 1
        managed = fields.managed(
            kept.stored, lambda at: f"{datetime.fromtimestamp(at, UTC):%FT%TZ}"
        )
        metadata = {
            **kept.item["metadata"], "resourceVersion": str(self.version), "managedFields": managed,
        }  # fmt: skip
        kept.item = {**kept.item, "metadata": metadata}
        kept.stored.body, kept.stored.version = kept.item, self.version
        kept.text = json.dumps(kept.item, separators=(",", ":")).encode()
        self.log.append(
            Happened(self.version, type_, target.kind, target.namespace, kept.item, kept.text)
        )
        self.changed.notify_all()

    def _check_namespace(self, target: Target) -> None:
        if target.namespace and self.find("Namespace", "", target.namespace) is None:
            raise refusals.Refused(404, f'namespaces "{target.namespace}" not found')

    def _check_version(self, target: Target, body: Mapping[str, Any], kept: Kept) -> None:
        given, own = body.get("metadata", {}), kept.item["metadata"]
        if given.get("uid", own["uid"]) != own["uid"]:
            raise refusals.another(target)
        if given.get("resourceVersion", own["resourceVersion"]) != own["resourceVersion"]:
            raise refusals.stale(target)


def _said(item: Manifest) -> Manifest:
    """What an object says, but for who wrote it last: a write of nothing else is in vain."""
    notes = {k: v for k, v in item["metadata"].get("annotations", {}).items() if k != FENCE}
    labels = item["metadata"].get("labels", {})
    rest = {k: v for k, v in item.items() if k not in ("metadata", "status")}
    return {**rest, "labels": labels, "notes": notes}


def _bare(body: Manifest) -> Manifest:
    """A body without what only says which object it is meant for."""
    metadata = {
        k: v for k, v in body.get("metadata", {}).items() if k not in ("resourceVersion", "uid")
    }
    return {**body, "metadata": metadata}


def _merged(item: Any, patch: Any) -> Any:
    """JSON merge patch."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    found = dict(item) if isinstance(item, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _merged(found.get(name), value)
    return found
