"""A page is one picture: what it reads twice is read once, at one instant.

Parts of a page each ask for the tree, the names, the prices. While a request that changes nothing
is answered, `once_a_page` keeps such an answer for the next part that asks the same. Elsewhere, in
workers and in requests that write, every call reads anew. Only frozen answers, and those nobody
changes, are kept.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_kept: ContextVar[dict[object, Any] | None] = ContextVar("page", default=None)
READS = frozenset({"GET", "HEAD", "OPTIONS"})


@contextmanager
def answering(method: str | None) -> Iterator[None]:
    """Remember what is read while one request is answered that only reads."""
    token = _kept.set({} if method in READS else None)
    try:
        yield
    finally:
        _kept.reset(token)


def being_read() -> bool:
    """Whether a page is being answered, so that what is read now is kept for its other parts."""
    return _kept.get() is not None


def known(read: Callable[..., _R], answer: _R, *args: object) -> None:
    """Keep what another read would find with these arguments, since it came along with this."""
    kept = _kept.get()
    if kept is not None:
        kept.setdefault((getattr(read, "__wrapped__", read), args, frozenset()), answer)


def shelf(name: str) -> list[Any]:
    """What this page has read so far of one kind, to cut narrower answers from; else nothing."""
    kept = _kept.get()
    if kept is None:
        return []
    found: list[Any] = kept.setdefault(("shelf", name), [])
    return found


def once_a_page(read: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let one request ask only once for the same; arguments must be hashable."""

    @wraps(read)
    def reads(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        kept = _kept.get()
        if kept is None:
            return read(*args, **kwargs)
        key = (read, args, frozenset(kwargs.items()))
        if key not in kept:
            kept[key] = read(*args, **kwargs)
        answer: _R = kept[key]
        return answer

    return reads
