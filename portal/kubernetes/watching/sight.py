"""All streams of one cluster and what they told: taken in here, counted on there.

The watcher asks three things of it: what changed, whether what is known is what is there now, and
from which version on a later watcher would have to ask.
"""

import queue
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from portal.kubernetes import reach
from portal.kubernetes.port import Listing
from portal.kubernetes.watching import streams
from portal.kubernetes.watching.source import SUBJECTS, Source, Subject, number
from portal.kubernetes.watching.store import Store
from portal.kubernetes.watching.streams import Begun, Ended, Listed, Message, Ready, Stream, Told

ROOM_SECONDS = 5.0
FOLLOWED = frozenset(subject for subject in SUBJECTS if subject.kind not in ("Node", "Event"))
"""What a later watcher must know the deletions of."""


@dataclass(slots=True)
class Sight:
    """A cluster as the streams tell it."""

    source: Source
    since: str = ""
    watch_seconds: int = streams.WATCH_SECONDS
    store: Store = field(default_factory=Store)
    streams: list[Stream] = field(default_factory=list)
    went_back: bool = False
    _inbox: "queue.Queue[Message]" = field(default_factory=lambda: queue.Queue(streams.MOST_QUEUED))
    _versions: dict[Subject, int] = field(default_factory=dict)
    _room: tuple[float, reach.Room] | None = None

    def open(self) -> None:
        """Let the streams run. Only what is deleted must be told from the last watcher's place."""
        for subject in SUBJECTS:
            since = self.since if subject in FOLLOWED else ""
            stream = Stream(self.source, subject, self._inbox, since, self.watch_seconds)
            self.streams.append(stream)
            stream.start()

    def close(self) -> None:
        """End them."""
        for stream in self.streams:
            stream.stop()
        for stream in self.streams:
            stream.join(5)

    # -- taking in -----------------------------------------------------------------------------

    def listen(self, seconds: float) -> int:
        """Take in what comes within so many seconds; returns how much came."""
        until = time.monotonic() + seconds
        count = 0
        while (left := until - time.monotonic()) > 0 or count == 0:
            try:
                self._take(self._inbox.get(timeout=max(left, 0.001)))
            except queue.Empty:
                break
            count += 1
        return count

    def drain(self) -> int:
        """Take in what is waiting."""
        count = 0
        while count < streams.MOST_QUEUED:
            try:
                self._take(self._inbox.get_nowait())
            except queue.Empty:
                break
            count += 1
        return count

    def _take(self, message: Message) -> None:
        store = self.store
        match message:
            case Begun(subject):
                store.begin(subject)
            case Listed(subject, items, version):
                store.listed(subject, items, version)
            case Ended(subject):
                store.end(subject)
            case Ready(subject, version):
                # A cluster that was restored from a copy counts from an earlier version again.
                self.went_back |= 0 < number(version) < self._versions.get(subject, 0)
                self._versions[subject] = number(version)
            case Told():
                self._follow(message)

    def _follow(self, told: Told) -> None:
        change, subject = told.change, told.subject
        match change.type:
            case "ADDED" | "MODIFIED":
                self.store.put(subject, change.item)
            case "DELETED":
                self.store.remove(subject, change.item, told.at)
            case _:
                """A bookmark says only up to where all is told."""
        if subject in self._versions and change.version:
            self._versions[subject] = number(change.version)

    # -- giving out ----------------------------------------------------------------------------

    @property
    def is_whole(self) -> bool:
        """Whether every subject was listed, and what happened before is told."""
        return len(self._versions) == len(SUBJECTS)

    def mark(self) -> str:
        """Up to which version everything was told; empty where nobody can say."""
        found = [self._versions[s] for s in FOLLOWED if self._versions.get(s)]
        return str(min(found)) if found and self.is_whole else ""

    def broken(self) -> tuple[float, str]:
        """For how many seconds the worst stream has been without an answer, and why."""
        now = time.monotonic()
        worst = (0.0, "")
        for stream in self.streams:
            since = stream.broken_since
            if since is not None:
                worst = max(worst, (now - since, stream.error))
        return worst

    def room(self) -> reach.Room:
        """What is free on the nodes; counted anew every few seconds."""
        now = time.monotonic()
        if self._room is None or now - self._room[0] > ROOM_SECONDS:
            pods = (*self.store.pods.values(), *self.store.fillers.values())
            nodes = Listing(tuple(self.store.nodes.values()), "")
            self._room = (now, reach.room(nodes, Listing(pods, "")))
        return self._room[1]

    def find_missing(self, roots: Iterable[str]) -> None:
        """Ask for what members of families name and no stream has told yet.

        Streams are not in step with each other: a pod may be told before its owner or its node.
        """
        for _ in range(4):
            missing = self.store.missing(roots)
            if not missing:
                return
            for one in missing:
                item = self.source.find(one.kind, one.namespace, one.name)
                if item is None or (one.uid and item["metadata"]["uid"] != one.uid):
                    self.store.absent(one)
                else:
                    self.store.put(Subject(one.kind), item, asked_for=True)
            roots = {self.store.root(root) for root in roots}
