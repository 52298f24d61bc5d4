"""Log lines that say what they belong to: one JSON object a line, or plain words for a terminal.

What is bound in a context (the request, the task, the cluster and its tick) stands in every line
written there, by whomever.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_bound: ContextVar[dict[str, object] | None] = ContextVar("bound", default=None)


def bound() -> dict[str, object]:
    """What stands in every line now."""
    return dict(_bound.get() or {})


def bind(**values: object) -> None:
    """Let these stand in every line from now on."""
    _bound.set({**bound(), **values})


def unbind(*names: str) -> None:
    """Let these stand there no more."""
    _bound.set({name: value for name, value in bound().items() if name not in names})


@contextmanager
def bound_to(**values: object) -> Iterator[None]:
    """Let these stand in every line of a block."""
    token = _bound.set({**bound(), **values})
    try:
        yield
    finally:
        _bound.reset(token)


class Context(logging.Filter):
    """Gives each line what is bound where it is written, and never holds one back."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep it beside the line, since a formatter may run elsewhere."""
        record.bound = bound()
        return True


class Lines(logging.Formatter):
    """Plain words, then what is bound."""

    def format(self, record: logging.LogRecord) -> str:
        """As the base has it, with the names at the end of the first line."""
        first, *rest = super().format(record).split("\n")
        names = [f"{key}={value}" for key, value in _of(record).items()]
        return "\n".join([" ".join([first, *names]), *rest])


class Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time in UTC, level, logger and message, what is bound, and the trace of a fault."""
        at = datetime.fromtimestamp(record.created, tz=UTC)
        line: dict[str, object] = {
            "at": at.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_of(record),
        }
        if record.exc_info:
            line["fault"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _of(record: logging.LogRecord) -> dict[str, object]:
    found = getattr(record, "bound", {})
    return found if isinstance(found, dict) else {}
