"""What a watcher asks of an API server: lists page by page, changes line by line, one object."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from portal.kubernetes import answers
from portal.kubernetes.client import Connection, Query, Stream
from portal.kubernetes.places import OWNERS, PLACES
from portal.kubernetes.port import ClusterError, Manifest, Unreachable

PAGE = 500
SILENT_SECONDS = 90
"""A server sends a bookmark every minute: longer silence is a line nobody is on any more."""
MOST_TRIES = 3
REFUSED = frozenset({"FailedCreate", "FailedToCreateHeadPod", "FailedToCreateWorkerPod"})


@dataclass(frozen=True, slots=True)
class Subject:
    """What one stream follows: objects of a kind, those a selector leaves."""

    kind: str
    selector: str = ""

    @property
    def query(self) -> Query:
        """The selector as a request says it."""
        return (("fieldSelector", self.selector),) if self.selector else ()

    def __str__(self) -> str:
        return f"{self.kind} {self.selector}".strip()


REFUSALS = (
    Subject("Event", "reason=FailedCreate"),
    Subject("Event", "involvedObject.kind=RayCluster,type=Warning"),
)
SUBJECTS = (Subject("Node"), *(Subject(kind) for kind in OWNERS), Subject("Pod"), *REFUSALS)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, and the version the whole list is of."""

    items: list[dict[str, Any]]
    version: str


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and the object after it."""

    type: str
    item: dict[str, Any]

    @property
    def version(self) -> str:
        """The cluster's version this line brings the reader up to."""
        return str(self.item["metadata"].get("resourceVersion", ""))


class Source:
    """One way to an API server; it is opened anew when the old one is not let in any more."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._signing_in = threading.Lock()

    def reconnect(self) -> None:
        """Sign in anew at the next request."""
        self._connection = None

    def _way(self) -> Connection:
        with self._signing_in:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def pages(self, subject: Subject) -> Iterator[Page]:
        """The list as it is now. `Gone` between two pages: ask for all of it again."""
        yield from self._pages(subject, PAGE)

    def whole(self, subject: Subject) -> Iterator[Page]:
        """The list in one piece, for a server that forgets faster than pages are read."""
        yield from self._pages(subject, 0)

    def _pages(self, subject: Subject, limit: int) -> Iterator[Page]:
        token = ""
        while True:
            paging = [("limit", str(limit)), *([("continue", token)] if token else [])]
            path = PLACES[subject.kind].path()
            page = self._way().ask("GET", path, [*subject.query, *paging])
            metadata = page.get("metadata", {})
            items = [_named(subject.kind, item) for item in page.get("items") or []]
            yield Page(items, str(metadata.get("resourceVersion", "")))
            token = metadata.get("continue", "")
            if not token:
                return

    def watch(self, subject: Subject, since: str, seconds: int) -> "Watch":
        """What changed from a version on, for so many seconds. `Gone` when that is too old."""
        query = (
            *subject.query, ("watch", "1"), ("allowWatchBookmarks", "true"),
            ("resourceVersion", since), ("timeoutSeconds", str(seconds)),
        )  # fmt: skip
        path = PLACES[subject.kind].path()
        return Watch(subject, self._way().stream(path, query, silent_seconds=SILENT_SECONDS))

    def find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """An object by its name; needs no more rights than to list."""
        subject = Subject(kind, f"metadata.name={name}")
        query = (*subject.query, ("limit", "1"))
        found = self._way().ask("GET", PLACES[kind].path(namespace), query).get("items") or []
        return _named(kind, found[0]) if found else None


class Watch:
    """Changes of one subject as they come."""

    def __init__(self, subject: Subject, stream: Stream) -> None:
        self._subject = subject
        self._stream = stream

    def __iter__(self) -> Iterator[Change]:
        for line in self._stream:
            told = _read(line)
            item = told["object"]
            if told["type"] == "ERROR":
                raise _failure(item)
            yield Change(told["type"], _named(self._subject.kind, item))

    def end(self) -> None:
        """Let whoever iterates find the end now."""
        self._stream.end()


def number(version: str) -> int:
    """A version as the number it is: the server counts them up; 0 for what is none."""
    return int(version) if version.isascii() and version.isdigit() else 0


def _read(line: bytes) -> dict[str, Any]:
    """A line that is cut off in the middle is the end of the stream."""
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Unreachable(_("The watch was cut off in the middle of a line.")) from error
    return told


def _failure(told: dict[str, Any]) -> ClusterError:
    """The error a watch ends with."""
    return answers.error(int(told.get("code") or 500), {}, json.dumps(told).encode())


def _named(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    # Half of what is sent, and nobody reads it.
    item["metadata"].pop("managedFields", None)
    item["kind"], item["apiVersion"] = kind, PLACES[kind].version
    return item
