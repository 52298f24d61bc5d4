"""What is there in a cluster now, and whose rows the last changes touch. Pure.

Every object is known by its uid and counts only when it is newer than what is known of it, so a
line told twice, late or in the wrong order changes nothing. What was deleted stays until its rows
say so. A family is a topmost owner with all that stands below it; it is looked at again whole
whenever one of its members changes.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from portal.kubernetes.owning import controller_uid
from portal.kubernetes.places import OWNERS
from portal.kubernetes.port import Listing, Manifest
from portal.kubernetes.reading import Read
from portal.kubernetes.watching import trimming
from portal.kubernetes.watching.source import REFUSED, Subject, number

MOST_REMEMBERED = 20_000
WATCHED = frozenset(OWNERS)


@dataclass(frozen=True, slots=True)
class Missing:
    """An object that one we know of names and that we do not know."""

    kind: str
    namespace: str
    name: str
    uid: str = ""


@dataclass(slots=True)
class Families:
    """A part of a cluster: some families whole, and every uid a row of theirs may have."""

    read: Read
    uids: set[str]
    roots: tuple[str, ...]


@dataclass(slots=True)
class _Relist:
    """A list that is being read: what it was of, and what of that has not come up yet."""

    unseen: set[str]
    version: int = 0


@dataclass(slots=True)
class Store:
    """All that is known of a cluster, by uid; `dirty` are the families whose rows may be behind."""

    nodes: dict[str, Manifest] = field(default_factory=dict)
    owners: dict[str, Manifest] = field(default_factory=dict)
    pods: dict[str, Manifest] = field(default_factory=dict)
    fillers: dict[str, Manifest] = field(default_factory=dict)
    events: dict[str, Manifest] = field(default_factory=dict)
    dirty: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    nodes_changed: bool = False
    _gone: dict[str, Manifest] = field(default_factory=dict)
    _versions: dict[str, int] = field(default_factory=dict)
    _buried: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _absent: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _above: dict[str, str] = field(default_factory=dict)
    _below: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _told: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _of: defaultdict[Subject, set[str]] = field(default_factory=lambda: defaultdict(set))
    _relists: dict[Subject, _Relist] = field(default_factory=dict)
    _machines: dict[str, str] = field(default_factory=dict)

    # -- taking in -----------------------------------------------------------------------------

    def put(self, subject: Subject, item: Manifest, *, asked_for: bool = False) -> None:
        """An object as it was at its version; older than what is known it says nothing."""
        uid, version = item["metadata"]["uid"], _version(item)
        if uid in self._buried or uid in self._gone or self._versions.get(uid, -1) >= version:
            return
        if subject.kind == "Pod" and not trimming.asks_for_devices(item):
            self._fill(subject, uid, item)
            return
        known = self._shelf(subject.kind).get(uid)
        if known is None and not (asked_for or _is_read(subject, item)):
            return
        self._versions[uid] = version
        self._of[subject].add(uid)
        kept = trimming.trimmed(item)
        if known is None or not _same(known, kept):
            self._place(subject.kind, uid, kept)

    def _fill(self, subject: Subject, uid: str, item: Manifest) -> None:
        kept = trimming.filler(item)
        if kept is None:
            self._empty(subject, uid)
            return
        self.fillers[uid] = kept
        self._versions[uid] = _version(item)
        self._of[subject].add(uid)

    def _empty(self, subject: Subject, uid: str) -> bool:
        """A pod without devices takes nothing any more; whether it was one."""
        if self.fillers.pop(uid, None) is None:
            return False
        self._versions.pop(uid, None)
        self._of[subject].discard(uid)
        return True

    def remove(self, subject: Subject, item: Manifest, at: datetime | None) -> None:
        """An object is gone; `item` is how it was last. `at` is when, where it does not say so."""
        uid = item["metadata"]["uid"]
        if uid in self._buried or uid in self._gone or self._empty(subject, uid):
            return
        known = self._shelf(subject.kind).pop(uid, None)
        self._of[subject].discard(uid)
        self._versions.pop(uid, None)
        if subject.kind == "Node":
            self._lose(item)
        elif subject.kind == "Event":
            self._untell(known or item)
        elif known is not None or _is_read(subject, item):
            kept = trimming.trimmed(item)
            self._link(uid, kept)
            self._gone[uid] = _ended(kept, at)
            self._touch(uid)

    def begin(self, subject: Subject) -> None:
        """A list of a subject begins: what does not come up in it is gone."""
        self._relists[subject] = _Relist(set(self._of[subject]))

    def listed(self, subject: Subject, items: Iterable[Manifest], version: str) -> None:
        """A page of the list."""
        relist = self._relists[subject]
        relist.version = number(version)
        for item in items:
            relist.unseen.discard(item["metadata"]["uid"])
            self.put(subject, item)

    def end(self, subject: Subject) -> None:
        """The list is through. What is gone ends by its own last words, or at its last sight."""
        relist = self._relists.pop(subject)
        for uid in relist.unseen:
            item = self._shelf(subject.kind).get(uid)
            if item is not None and self._versions.get(uid, 0) <= relist.version:
                self.remove(subject, item, None)

    def _shelf(self, kind: str) -> dict[str, Manifest]:
        match kind:
            case "Node":
                return self.nodes
            case "Pod":
                return self.pods
            case "Event":
                return self.events
            case _:
                return self.owners

    def _lose(self, item: Manifest) -> None:
        name = item["metadata"]["name"]
        # Under its name there may be another machine by now.
        if self._machines.get(name) == item["metadata"]["uid"]:
            del self._machines[name]
        self.nodes_changed = True

    def _place(self, kind: str, uid: str, item: Manifest) -> None:
        self._shelf(kind)[uid] = item
        if kind == "Node":
            self._machines[item["metadata"]["name"]] = uid
            self._absent.pop(f"node {item['metadata']['name']}", None)
            self.nodes_changed = True
        elif kind == "Event":
            self._tell(uid, item)
        else:
            self.dirty.add(self.root(uid))
            self._link(uid, item)
            self.dirty.add(uid)

    def _link(self, uid: str, item: Manifest) -> None:
        above, before = controller_uid(item), self._above.get(uid, "")
        if before and before != above:
            self._below[before].discard(uid)
            self.moved |= {uid, before}
        if above:
            self._above[uid] = above
            self._below[above].add(uid)
        else:
            self._above.pop(uid, None)

    def _tell(self, uid: str, item: Manifest) -> None:
        about = str(item.get("involvedObject", {}).get("uid", ""))
        self._told[about].add(uid)
        self._touch(about)

    def _untell(self, item: Manifest) -> None:
        about = str(item.get("involvedObject", {}).get("uid", ""))
        self._told[about].discard(item["metadata"]["uid"])
        if not self._told[about]:
            del self._told[about]
        self._touch(about)

    def _touch(self, uid: str) -> None:
        if uid in self.owners or uid in self.pods or uid in self._gone or uid in self._below:
            self.dirty.add(uid)

    # -- giving out ----------------------------------------------------------------------------

    def take(self) -> list[str]:
        """The families whose rows may be behind; from now on they are somebody's to bring up.

        Those between which an object moved come first, so that they are written together.
        """
        moved, self.moved = {self.root(uid) for uid in self.moved}, set()
        taken, self.dirty = {self.root(uid) for uid in self.dirty}, set()
        return sorted(taken, key=lambda root: (root not in moved, root))

    def root(self, uid: str) -> str:
        """The topmost owner somebody names."""
        seen = {uid}
        while (above := self._above.get(uid, "")) and above not in seen:
            uid = above
            seen.add(uid)
        return uid

    def roots(self) -> set[str]:
        """Every family there is."""
        return {self.root(uid) for shelf in (self.owners, self.pods, self._gone) for uid in shelf}

    def waiting(self) -> set[str]:
        """Families with a pod no node was found for: what keeps it may have changed elsewhere."""
        return {
            self.root(uid)
            for uid, item in self.pods.items()
            if not item.get("spec", {}).get("nodeName")
        }

    def missing(self, roots: Iterable[str]) -> list[Missing]:
        """Owners and machines that members of these families name and that did not come up yet."""
        found: dict[str, Missing] = {}
        for uid in self._members(roots):
            item = self.pods.get(uid) or self.owners.get(uid)
            if item is None:
                continue
            above = self._above.get(uid, "")
            if above and not (above in self.owners or above in self._gone or above in self._absent):
                found |= _owner_of(item)
            node = item.get("spec", {}).get("nodeName", "") if uid in self.pods else ""
            if node and node not in self._machines and f"node {node}" not in self._absent:
                found[f"node {node}"] = Missing("Node", "", str(node))
        return list(found.values())

    def absent(self, missing: Missing) -> None:
        """What was asked for is not there."""
        key = missing.uid or f"node {missing.name}"
        _remember(self._absent, key)

    def families(self, roots: Collection[str]) -> Families:
        """These families, ready to be read; nodes and the room on them are of all."""
        members = list(self._members(roots))
        events = [self.events[one] for uid in members for one in self._told.get(uid, ())]
        version = ""
        owners = [self.owners[uid] for uid in members if uid in self.owners]
        pods = [self.pods[uid] for uid in members if uid in self.pods]
        gone = [self._gone[uid] for uid in members if uid in self._gone]
        return Families(
            Read(
                nodes=Listing(tuple(self.nodes.values()), version),
                owners=Listing(tuple(owners), version, tuple(g for g in gone if not _is_pod(g))),
                pods=Listing(tuple(pods), version, tuple(g for g in gone if _is_pod(g))),
                events=Listing(tuple(events), version),
                version=version,
            ),
            {*members, *roots},
            tuple(roots),
        )

    def settled(self, roots: Iterable[str]) -> None:
        """The rows of these families are in step: what was deleted of them can be forgotten.

        A job that was deleted ends with its last pod, so until then all their times are kept; so
        is what still has something alive below it.
        """
        for root in roots:
            dead = [uid for uid in self._members([root]) if uid in self._gone]
            if not (root in self._gone and self._lives(root)):
                for uid in [uid for uid in dead if not self._lives(uid)]:
                    self._bury(uid)

    def _lives(self, uid: str) -> bool:
        return any(one in self.pods or one in self.owners for one in self._members([uid]))

    def _bury(self, uid: str) -> None:
        del self._gone[uid]
        _remember(self._buried, uid)
        above = self._above.pop(uid, "")
        if above:
            self._below[above].discard(uid)
            if not self._below[above]:
                del self._below[above]

    def _members(self, roots: Iterable[str]) -> Iterator[str]:
        stack, seen = list(roots), set[str]()
        while stack:
            uid = stack.pop()
            if uid in seen:
                continue
            seen.add(uid)
            yield uid
            stack.extend(self._below.get(uid, ()))


def _version(item: Manifest) -> int:
    """An object's version."""
    return number(str(item["metadata"].get("resourceVersion", "")))


def _is_read(subject: Subject, item: Manifest) -> bool:
    """Whether an object we do not know is worth knowing."""
    match subject.kind:
        case "Pod":
            return trimming.asks_for_devices(item)
        case "Event":
            return item.get("reason") in REFUSED
        case "Node":
            return True
        case _:
            return trimming.is_read(item)


def _remember(shelf: OrderedDict[str, None], key: str) -> None:
    """Keep the newest of these; what is long past is never told again."""
    shelf[key] = None
    while len(shelf) > MOST_REMEMBERED:
        shelf.popitem(last=False)


def _same(known: Manifest, now: Manifest) -> bool:
    """Whether nothing that somebody reads has changed."""
    return _bare(known) == _bare(now)


def _bare(item: Manifest) -> tuple[Manifest, dict[str, object]]:
    metadata = {k: v for k, v in item["metadata"].items() if k != "resourceVersion"}
    return {k: v for k, v in item.items() if k != "metadata"}, metadata


def _is_pod(item: Manifest) -> bool:
    return str(item["kind"]) == "Pod"


def _ended(item: Manifest, at: datetime | None) -> Manifest:
    """A deleted object; where it does not say when, it went as we were told of it."""
    if at is None or item["metadata"].get("deletionTimestamp"):
        return item
    told = at.replace(microsecond=0).isoformat().replace("+00:00", "Z")
    return {**item, "metadata": {**item["metadata"], "deletionTimestamp": told}}


def _owner_of(item: Manifest) -> dict[str, Missing]:
    """The controller an object names, if it is of a kind we follow."""
    for one in item["metadata"].get("ownerReferences", []):
        if one.get("controller") and one.get("kind") in WATCHED:
            uid = str(one["uid"])
            namespace = item["metadata"].get("namespace", "")
            return {uid: Missing(str(one["kind"]), namespace, str(one["name"]), uid)}
    return {}
