"""One thread a subject: list once, then watch and watch again from where the last one ended.

A stream holds no state but its place, the version it has come up to; what it reads it puts into a
queue that takes only so much, so that a reader who is behind slows the server and fills no memory.
Only an answer of 410 makes it list again. After a failure it waits: as long as the server asks
(Retry-After), else longer each time; always with chance in it, so that many streams that fell
together do not come back together.
"""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _

from portal.common import clock
from portal.kubernetes.port import ClusterError, Gone, Manifest, NotFound, Refused, TooMany
from portal.kubernetes.watching.source import (
    MOST_TRIES,
    Change,
    Page,
    Source,
    Subject,
    Watch,
    number,
)

log = logging.getLogger(__name__)

LOOK_BACK_SECONDS = 1
WATCH_SECONDS = 300
FIRST_WAIT, LONGEST_WAIT = 0.25, 30.0
UNKNOWN_KIND_WAIT = 60.0
MOST_QUEUED = 128
"""Messages, a page of a list among them at most: what a reader who is behind may keep in memory."""
GIVE_WAY_SECONDS = 0.5
BOOKMARK_SECONDS = 60
"""A server says at least so often where a watch is."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A list begins."""

    subject: Subject


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of it."""

    subject: Subject
    items: tuple[Manifest, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The list is through."""

    subject: Subject


@dataclass(frozen=True, slots=True)
class Ready:
    """All that happened while nobody watched is told: from here on it is now."""

    subject: Subject
    version: str


@dataclass(frozen=True, slots=True)
class Told:
    """A line of a watch; `at` is when it came, for what happens now."""

    subject: Subject
    change: Change
    at: datetime | None


Message = Begun | Listed | Ended | Ready | Told


@dataclass(slots=True)
class Patience:
    """How long to wait after a failure: longer each time, and never the same for two."""

    chance: random.Random
    tries: int = 0

    def next(self, asked: float = 0.0) -> float:
        """Seconds until the next try; at least what the server asked for."""
        most = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(self.tries, 16))
        self.tries += 1
        return asked + self.chance.uniform(most / 2, most)

    def calm(self) -> None:
        """It worked: the next failure is a first one."""
        self.tries = 0


@dataclass(eq=False)
class Stream:
    """Follows one subject in a thread of its own until it is told to stop."""

    source: Source
    subject: Subject
    inbox: "queue.Queue[Message]"
    since: str = ""
    watch_seconds: int = WATCH_SECONDS
    sleep: Callable[[float], object] | None = None
    chance: random.Random = field(default_factory=random.SystemRandom)
    error: str = ""
    broken_since: float | None = None
    lists: int = 0

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._watch: Watch | None = None
        self._live = False
        self._place = ""
        self._heard, self._opened_at = 0, 0.0
        self._patience = Patience(self.chance)
        self._thread = threading.Thread(target=self._run, name=f"watch {self.subject}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it; what it was waiting for is cut off."""
        self._stop.set()
        if self._watch is not None:
            self._watch.end()

    def join(self, seconds: float) -> None:
        """Wait for its end."""
        self._thread.join(seconds)

    def _run(self) -> None:
        version = ""
        while not self._stop.is_set():
            try:
                version = version or self._list()
                version = self._follow(version)
            except Gone:
                log.info("%s: the version %s is too old; it is listed anew", self.subject, version)
                self._wait(self._patience.next())
                version = ""
            except ClusterError as error:
                version = self._failed(error, version)
        self._watch = None

    def _failed(self, error: ClusterError, version: str) -> str:
        """Wait as long as the failure asks for; give where to go on from."""
        if self._stop.is_set():
            return version
        if isinstance(error, NotFound):
            return self._no_such_kind()
        self.error = str(error)
        if self.broken_since is None:
            self.broken_since = time.monotonic()
            log.info("%s: %s", self.subject, error)
        if isinstance(error, Refused):
            self.source.reconnect()
        asked = float(error.retry_after) if isinstance(error, TooMany) else 0.0
        self._wait(self._patience.next(asked))
        # A list that broke off is begun anew, a watch goes on where it was, unless nobody spoke.
        return self._place if self._live and not self._was_silent() else ""

    def _wait(self, seconds: float) -> None:
        (self.sleep or self._stop.wait)(seconds)

    def _well(self) -> None:
        self.error, self.broken_since = "", None
        self._patience.calm()

    # -- listing -------------------------------------------------------------------------------

    def _list(self) -> str:
        """Read the whole list; then what happened before it since the last watcher's place."""
        self._place = ""
        version = self._read_list()
        # A place ahead of the list is of before the cluster was restored from a copy.
        if self.since and not self._live and number(self.since) <= number(version):
            version = self._look_back(self.since, version)
        self._put(Ready(self.subject, version))
        self._live = True
        self._place = version
        return version

    def _read_list(self) -> str:
        """The list, page by page; one whose rest ran out is begun anew, at last in one piece."""
        for read in [self.source.pages] * (MOST_TRIES - 1) + [self.source.whole]:
            with suppress(Gone):
                return self._put_list(read(self.subject))
        raise Gone(
            _("%(subject)s cannot be listed: the server forgets faster than it answers.")
            % {"subject": self.subject}
        )

    def _put_list(self, pages: Iterable[Page]) -> str:
        self.lists += 1
        version = ""
        self._put(Begun(self.subject))
        for page in pages:
            version = page.version
            self._put(Listed(self.subject, tuple(page.items), version))
            self._well()
        self._put(Ended(self.subject))
        return version

    def _look_back(self, since: str, listed: str) -> str:
        """Tell what happened since; where nobody knows any more, go on from the list."""
        try:
            return self._read_watch(since, LOOK_BACK_SECONDS)
        except Gone:
            log.info("%s: what was deleted since %s is not known any more", self.subject, since)
            return listed

    def _no_such_kind(self) -> str:
        """Nobody installed it, or somebody removed it: there is none, until there is."""
        self._well()
        self._put(Begun(self.subject))
        self._put(Ended(self.subject))
        self._put(Ready(self.subject, ""))
        self._live = True
        self._wait(UNKNOWN_KIND_WAIT * self.chance.uniform(0.8, 1.2))
        return ""

    # -- watching ------------------------------------------------------------------------------

    def _follow(self, version: str) -> str:
        """One watch from a version to its end; gives the version it came up to.

        One that told nothing, not even where it is, may be from a version the server never had.
        """
        seconds = int(self.watch_seconds * self.chance.uniform(0.8, 1.2)) or 1
        version = self._read_watch(version, seconds)
        if self._was_silent():
            return ""
        if time.monotonic() - self._opened_at < min(GIVE_WAY_SECONDS, seconds):
            # It ended at once; without a pause this would be a storm.
            self._wait(self._patience.next())
        return version

    def _was_silent(self) -> bool:
        """Whether the last watch told nothing for longer than a server keeps quiet."""
        return self._heard == 0 and time.monotonic() - self._opened_at > BOOKMARK_SECONDS * 1.2

    def _read_watch(self, version: str, seconds: int) -> str:
        self._place = version
        self._heard, self._opened_at = 0, time.monotonic()
        watch = self.source.watch(self.subject, version, seconds)
        self._watch = watch
        if self._stop.is_set():
            watch.end()
        self.error, self.broken_since = "", None
        for change in watch:
            if self._stop.is_set():
                break
            self._well()
            self._heard += 1
            self._put(Told(self.subject, change, clock.real_now() if self._live else None))
            self._place = change.version or self._place
        return self._place

    def _put(self, message: Message) -> None:
        """Hand over, waiting as long as the reader is behind."""
        while not self._stop.is_set():
            with suppress(queue.Full):
                self.inbox.put(message, timeout=0.5)
                return
