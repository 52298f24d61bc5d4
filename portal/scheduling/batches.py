"""Ids in lists short enough for one statement of any database."""

from collections.abc import Iterable, Iterator

SIZE = 500


def of(pks: Iterable[int]) -> Iterator[list[int]]:
    """The ids in order, so many at a time."""
    ordered = sorted(pks)
    for begin in range(0, len(ordered), SIZE):
        yield ordered[begin : begin + SIZE]
