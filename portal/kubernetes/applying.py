"""Writes → a cluster, a few at a time, what shrinks before what grows. No database.

A quota of a class names devices of one pool, so it either shrinks or grows: once all that shrinks
has been answered, what grows may go out in any order, and the sum over namespaces and classes is
exceeded at no instant. A namespace gets the label that lets device pods in after its quotas.

The server's own controller writes what is used into a quota, and so makes a write stale that was
made for the version before. Such a one goes out again for the new version, as long as every field
it changes is still what it was and no newer fence stands beside it.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from portal.kubernetes import diff
from portal.kubernetes.diff import Drifted, Write
from portal.kubernetes.port import (
    FENCE,
    MANAGER,
    ClusterError,
    ClusterPort,
    FieldConflict,
    Manifest,
    NotFound,
    StaleVersion,
    TooMany,
    Unreachable,
)

TRIES = 4
"""How often one write goes out at most."""
ORDER = ("PriorityClass", "Node", "ResourceQuota", "Namespace")


@dataclass(slots=True)
class Outcome:
    """What became of the writes, in the order they were planned."""

    done: list[Write] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failure: str = ""
    drifts: list[Drifted] = field(default_factory=list)

    def note(self, write: Write, error: BaseException | None) -> None:
        """Take down one answer."""
        match error:
            case None:
                self.done.append(write)
            case Unreachable() | TooMany():
                self.failure = self.failure or str(error)
            case ClusterError():
                if isinstance(error, FieldConflict):
                    self.drifts += _conflicts(write, error)
                self.refused.append(f"{write.kind} {write.namespace}/{write.name}: {error}")
            case _:
                raise error


def _conflicts(write: Write, conflict: FieldConflict) -> list[Drifted]:
    """A field somebody took between our look and our write."""
    return [
        Drifted(write.kind, write.namespace, write.name, name, None, None, manager)
        for name, manager in conflict.owners.items()
    ]


def apply(
    port: ClusterPort,
    writes: Iterable[Write],
    outcome: Outcome,
    *,
    fence: int,
    writers: int,
    check: Callable[[], None],
) -> None:
    """Apply all writes, at most `writers` at a time; one that is refused stops no other.

    `check` is called in the caller's own thread before each write is begun. When it raises, or the
    cluster answers no more, no further one is begun; `outcome` tells every answer all the same.
    """
    with ThreadPoolExecutor(writers) if writers > 1 else _Here() as executor:
        way = _UnderWay(executor, writers)
        try:
            for write in way.turns(writes):
                check()
                way.begin(write, partial(_send, port, fence=fence))
        finally:
            way.settle(0)
            for write, answer in way.begun:
                outcome.note(write, answer.exception())


def _send(port: ClusterPort, write: Write, *, fence: int) -> None:
    version = write.resource_version
    for left in reversed(range(TRIES)):
        try:
            port.apply(write.manifest, manager=MANAGER, fence=fence, resource_version=version)
        except StaleVersion:
            found = _now(port, write) if left else None
            if found is None or not _is_as_planned(found, write, fence):
                raise
            version = str(found["metadata"]["resourceVersion"])
        else:
            return


def _now(port: ClusterPort, write: Write) -> Manifest | None:
    try:
        return port.get(write.kind, write.namespace, write.name)
    except NotFound:
        return None


def _is_as_planned(found: Manifest, write: Write, fence: int) -> bool:
    """Whether a write still changes what it was to change, and nobody newer has been there."""
    beside = str((found["metadata"].get("annotations") or {}).get(FENCE, "0"))
    is_now = diff.fields(found)
    is_newer = beside.isdigit() and int(beside) > fence
    return not is_newer and all(is_now.get(c.field) == c.was for c in write.changes)


def stages(writes: Iterable[Write]) -> Iterator[list[Write]]:
    """Parts to be written one after the other; within a part any order is good."""

    def stage(write: Write) -> tuple[int, bool]:
        return ORDER.index(write.kind), write.growth >= 0

    for _key, part in groupby(sorted(writes, key=stage), stage):
        yield list(part)


class _UnderWay:
    """What was begun, and what of it has no answer yet."""

    def __init__(self, executor: Executor, writers: int) -> None:
        self.begun: list[tuple[Write, Future[None]]] = []
        self._executor = executor
        self._most = writers
        self._open: set[Future[None]] = set()
        self._silent = False

    def turns(self, writes: Iterable[Write]) -> Iterator[Write]:
        """Yield each write when it may begin; ends early once the cluster answers no more."""
        for part in stages(writes):
            for write in part:
                if not self.settle(self._most - 1):
                    return
                yield write
            if not self.settle(0):
                return

    def begin(self, write: Write, send: Callable[[Write], None]) -> None:
        """Send one on its way."""
        answer = self._executor.submit(send, write)
        self.begun.append((write, answer))
        self._open.add(answer)

    def settle(self, most: int) -> bool:
        """Wait until at most so many have no answer yet; tells whether the cluster answers."""
        while len(self._open) > most:
            answered, self._open = wait(self._open, return_when=FIRST_COMPLETED)
            for answer in answered:
                self._silent |= isinstance(answer.exception(), Unreachable | TooMany)
        return not self._silent


class _Here(Executor):
    """One at a time, in the caller's own thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        answer: Future[Any] = Future()
        try:
            answer.set_result(fn(*args, **kwargs))
        except ClusterError as error:
            answer.set_exception(error)
        return answer
