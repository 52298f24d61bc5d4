"""A whole number over time: constant between moments at which it steps."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

FOREVER = 1 << 60
"""The end of what has no known end."""


class Steps:
    """A step function from `now` on. Intervals are half-open."""

    def __init__(self, now: int, value: int) -> None:
        self._times = [now]
        self._values = [value]

    def add(self, start: int, end: int, change: int) -> None:
        """Add the change from `start` to `end`."""
        first, last = self._cut(start), self._cut(end)
        for number in range(first, last):
            self._values[number] += change

    def _cut(self, moment: int) -> int:
        """Return the number of the step that begins at the moment, making it."""
        if moment >= FOREVER:
            return len(self._times)
        place = bisect_left(self._times, moment)
        if place == len(self._times) or self._times[place] != moment:
            if place == 0:
                return 0
            self._times.insert(place, moment)
            self._values.insert(place, self._values[place - 1])
        return place

    def at(self, moment: int) -> int:
        """Return the value at a moment."""
        return self._values[max(0, bisect_right(self._times, moment) - 1)]

    def most(self, start: int, end: int) -> int:
        """Return the largest value from `start` to `end`, which must be later."""
        first = max(0, bisect_right(self._times, start) - 1)
        return max(self._values[first : max(first + 1, bisect_left(self._times, end))])

    def earliest_below(self, after: int, duration: int, most: int) -> int | None:
        """Return the first moment from `after` on when the value stays at most `most` so long."""
        times, values = self._times, self._values
        start: int | None = after
        for number in range(max(0, bisect_right(times, after) - 1), len(times)):
            if start is not None and times[number] - start >= duration:
                break
            if values[number] > most:
                start = None
            elif start is None:
                start = times[number]
        return start

    def changes(self, after: int, name: int) -> Iterator[tuple[int, int, int]]:
        """Yield, after the moment, when the value steps, the given name, and by how much."""
        times, values = self._times, self._values
        for number in range(max(1, bisect_right(times, after)), len(times)):
            yield times[number], name, values[number] - values[number - 1]
