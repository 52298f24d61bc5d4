"""Writes → a cluster, a few at a time, what shrinks before what grows. No database.

A quota of a class names devices of one pool, so it either shrinks or grows: once all that shrinks
has been answered, what grows may go out in any order, and the sum over namespaces and classes is
exceeded at no instant. A namespace gets the label that lets device pods in after its quotas.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from portal.kubernetes.diff import Drifted, Write
from portal.kubernetes.port import (
    MANAGER,
    ClusterError,
    ClusterPort,
    FieldConflict,
    TooMany,
    Unreachable,
)

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

    def send(write: Write) -> None:
        port.apply(
            write.manifest, manager=MANAGER, fence=fence, resource_version=write.resource_version
        )

    with ThreadPoolExecutor(writers) if writers > 1 else _Here() as executor:
        way = _UnderWay(executor, writers)
        try:
            for write in way.turns(writes):
                check()
                way.begin(write, send)
        finally:
            way.settle(0)
            for write, answer in way.begun:
                outcome.note(write, answer.exception())


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
