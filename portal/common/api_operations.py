"""What an operation of the API says about itself, beside the method that carries it out.

The document at /api/v1/openapi.json is made of these; a route without one fails a test.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from rest_framework.serializers import BaseSerializer

from portal.common.api_shapes import BYTES, ID, INSTANT, Shape, one_of

Method = TypeVar("Method", bound=Callable[..., Any])
JSON = "application/json"


@dataclass(frozen=True)
class Parameter:
    """Something an address may carry behind its question mark."""

    name: str
    shape: Shape
    about: str


@dataclass(frozen=True)
class Operation:
    """One method of one route.

    `edits` takes If-Match and answers with an ETag; `tagged` only answers with one; `paged` is
    a page although it holds more; `looks` writes
    nothing although it is a POST.
    """

    answer: Shape
    status: int = 200
    query: tuple[Parameter, ...] = ()
    body: type[BaseSerializer[Any]] | Shape | None = None
    media: tuple[str, ...] = (JSON,)
    edits: bool = False
    tagged: bool = False
    looks: bool = False
    paged: bool = False
    name: str = ""
    also: tuple[tuple[int, str], ...] = ()
    fails: tuple[int, ...] = ()


def operation(answer: Shape, **said: Any) -> Callable[[Method], Method]:
    """Say what a method answers, takes and may refuse."""

    def mark(method: Method) -> Method:
        method.operation = Operation(answer, **said)  # type: ignore[attr-defined]  # read back below
        return method

    return mark


def operation_of(view: object, method: str) -> Operation | None:
    """What the method of a view says about itself."""
    return getattr(getattr(view, method.lower(), None), "operation", None)


def download(*media: str, **said: Any) -> Callable[[Method], Method]:
    """Say that a method answers with a file."""
    return operation(BYTES, media=media, **said)


def row(name: str, about: str) -> Parameter:
    """The id of a row to narrow by."""
    return Parameter(name, {**ID, "minimum": 0, "maximum": 10**18 - 1}, about)


def instant(name: str, about: str) -> Parameter:
    """A time with its offset."""
    return Parameter(name, INSTANT, about)


def day(name: str, about: str) -> Parameter:
    """A day."""
    return Parameter(name, {"type": "string", "format": "date"}, about)


def word(name: str, words: Iterable[str], about: str) -> Parameter:
    """One of a few words."""
    return Parameter(name, one_of(words), about)


def text(name: str, about: str) -> Parameter:
    """Any text."""
    return Parameter(name, {"type": "string"}, about)


TEAM = row("team", "Only of this team.")
POOL = row("pool", "Only of this pool.")
CLUSTER = row("cluster", "Only of this cluster.")
FROM = instant("from", "Begin of the period, with its offset.")
TO = instant("to", "End of the period, with its offset.")
