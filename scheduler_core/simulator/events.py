"""What happens when: a heap of (time, rank, arrival number).

Rank orders what happens in one second: ends free their devices before anything else, arrivals come
last, so that a decision sees all of the second it is made in. The arrival number makes the order
total, so that a replay is the same every time (after the event queue of SimPy).
"""

from collections.abc import Container, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple


class Rank(IntEnum):
    """Order of events inside one second."""

    END = 0
    RESERVATION = 1
    REPAIR = 2
    FAILURE = 3
    ARRIVAL = 4


class Event(NamedTuple):
    """Something that happens to `subject`: the number of a job, a reservation or a node.

    `turn` tells an end that still holds from one that a preemption made void.
    """

    at: int
    rank: Rank
    number: int
    subject: int
    turn: int = 0


class Events:
    """The events to come."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0

    def add(self, at: int, rank: Rank, subject: int, turn: int = 0) -> None:
        """Add an event."""
        heappush(self._heap, Event(at, rank, self._number, subject, turn))
        self._number += 1

    def add_all(self, times: Sequence[int], rank: Rank, leaving_out: Container[int] = ()) -> None:
        """Add an event of each time but those left out; the subject is its place in the list."""
        first = self._number
        self._heap += [
            Event(at, rank, first + place, place)
            for place, at in enumerate(times)
            if place not in leaving_out
        ]
        self._number += len(times)
        heapify(self._heap)

    def next_time(self) -> int | None:
        """Return when something happens next, or None when nothing will."""
        return self._heap[0].at if self._heap else None

    def pop(self) -> Event:
        """Take the next event. Raises `IndexError` when there is none."""
        return heappop(self._heap)
