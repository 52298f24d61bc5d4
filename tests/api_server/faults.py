"""What can go wrong between a server and its client, scripted: each fault hits so many requests."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None
    agent: str = ""

    @property
    def watches(self) -> bool:
        """Whether it stays to hear what changes."""
        return self.query.get("watch") in ("1", "true")


@dataclass(slots=True)
class Fault:
    """Something that happens to the next requests that match, `times` of them.

    `status` answers instead of doing; `after` seconds of silence come first; `lost` does as asked
    and says nothing; `cut` breaks a watch after so many lines, in the middle of the next; `doubled`
    tells every line of a watch twice; `late` tells each line before the one that came earlier.
    """

    method: str = ""
    path: str = ""
    watch: bool | None = None
    times: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    lost: bool = False
    cut: int | None = None
    doubled: bool = False
    late: bool = False

    def hits(self, request: Request) -> bool:
        """Whether it is about this request."""
        return (
            self.times > 0
            and (not self.method or self.method == request.method)
            and bool(re.search(self.path, request.path))
            and self.watch in (None, request.watches)
        )


def busy(seconds: int = 1, **more: Any) -> Fault:
    """429: come back later."""
    return Fault(status=429, headers={"Retry-After": str(seconds)}, **more)


def broken(**more: Any) -> Fault:
    """500: it failed inside."""
    return Fault(status=500, **more)


@dataclass(slots=True)
class Script:
    """The faults still to come, and what was asked."""

    faults: list[Fault] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    look: Callable[[Request], None] | None = None

    def add(self, *faults: Fault) -> None:
        """Let these happen from now on."""
        self.faults += faults

    def next(self, request: Request) -> Fault:
        """What happens to a request; a fault that does nothing where nothing does."""
        self.asked.append(request)
        if self.look is not None:
            self.look(request)
        for fault in self.faults:
            if fault.hits(request):
                fault.times -= 1
                return fault
        return Fault()

    def writes(self) -> list[Request]:
        """What was asked to be written."""
        return [one for one in self.asked if one.method != "GET"]
