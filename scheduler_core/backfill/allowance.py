"""Quotas over time: what each team uses from now on, and from when on an ask is allowed."""

from bisect import bisect_right
from collections.abc import Callable

from scheduler_core.backfill.steps import FOREVER, Steps
from scheduler_core.model import Workload
from scheduler_core.resources import Amount
from scheduler_core.scratch import Book, Held, State
from scheduler_core.scratch.terms import boundaries, entitlements

Key = tuple[str, int, int, str]
"""("own" | "below" | "firm" | "person", pool, team, person)."""

_TRIES = 100
"""So often the rules may push a start on before it is given up."""


class Terms:
    """What is promised and allowed at any moment; one book without use for each stretch."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.moments = [state.now, *boundaries(state.snapshot)]
        self._books: dict[int, list[Book]] = {}

    def book(self, pool: int, moment: int) -> Book:
        """Return the book whose terms hold at the moment; its use means nothing."""
        start = self.moments[max(0, bisect_right(self.moments, moment) - 1)]
        if start not in self._books:
            state = self._state
            found = entitlements(state.snapshot, state.tree, start)
            self._books[start] = [
                Book(state.tree, terms, book.capacity)
                for terms, book in zip(found, state.books, strict=True)
            ]
            for book, live in zip(self._books[start], state.books, strict=True):
                book.out_of_service = live.out_of_service
        return self._books[start][pool]

    def stretches(self, after: int) -> list[tuple[int, int]]:
        """Return the stretches from `after` on in which the terms stay the same."""
        if after >= self.moments[-1]:
            return [(after, FOREVER)]
        starts = [after, *(moment for moment in self.moments if moment > after)]
        return list(zip(starts, [*starts[1:], FOREVER], strict=True))


class Allowance:
    """Use of running and planned work, team by team, and the rules of §2 at any moment."""

    def __init__(self, state: State, terms: Terms) -> None:
        self._state = state
        self._terms = terms
        self._steps: dict[Key, Steps] = {}
        self._held: dict[tuple[int, int], list[Held]] = {}
        for held in state.running.values():
            self._held.setdefault((held.pool, held.team), []).append(held)
        self._extra: dict[tuple[int, int], list[tuple[Workload, int, int, int]]] = {}
        self._lends = [
            any(limit is not None for limit in book.terms.lending) for book in state.books
        ]

    def add(self, workload: Workload, pool: int, milli: int, start: int, end: int) -> None:
        """Count an ask from `start` to `end`; a negative one takes it off."""
        team = self._state.tree.index[workload.team]
        self._extra.setdefault((pool, team), []).append((workload, milli, start, end))
        for key in self._keys(workload, pool):
            if key in self._steps:
                self._steps[key].add(start, end, milli)

    def _keys(self, workload: Workload, pool: int) -> list[Key]:
        tree = self._state.tree
        team = tree.index[workload.team]
        keys: list[Key] = [("own", pool, team, "")]
        keys += [("below", pool, number, "") for number in tree.paths[team]]
        if not workload.preemptible:
            keys.append(("firm", pool, team, ""))
        if workload.user is not None:
            keys.append(("person", pool, team, workload.user))
        return keys

    def steps(self, key: Key) -> Steps:
        """Return the use the key names over time."""
        if key not in self._steps:
            self._steps[key] = self._build(key)
        return self._steps[key]

    def _build(self, key: Key) -> Steps:
        kind, pool, team, _ = key
        tree = self._state.tree
        teams = [team]
        if kind == "below":
            teams = [one for one in range(len(tree)) if team in tree.paths[one]]
        steps = Steps(self._state.now, 0)
        for one in teams:
            for held in self._held.get((pool, one), ()):
                if key in self._keys(held.workload, pool):
                    end = FOREVER if held.ends_at is None else held.ends_at
                    steps.add(self._state.now, end, held.gpu_milli)
            for workload, milli, start, end in self._extra.get((pool, one), ()):
                if key in self._keys(workload, pool):
                    steps.add(start, end, milli)
        return steps

    def earliest(
        self, workload: Workload, pool: int, milli: int, after: int, duration: int, guaranteed: bool
    ) -> int | None:
        """Return the first moment from `after` on when quotas allow the ask for so long.

        With `guaranteed` the team must stay within what it is entitled to; without, it borrows.
        """
        if not milli:
            return after
        rules = self._ceilings(workload, pool, milli, guaranteed)
        moment: int | None = after
        for _ in range(_TRIES):
            before = moment
            for key, ceiling in rules:
                if moment is not None:
                    moment = self._below(key, ceiling, moment, duration)
            if moment is None:
                return None
            moment = self._firm_until(workload, pool, milli, moment, duration)
            if moment is None or guaranteed or not self._lends[pool]:
                allowed = moment
            else:
                allowed = self._lendable(workload, pool, milli, moment, duration)
            if allowed == before or allowed is None:
                return allowed
            moment = allowed
        return None

    def _ceilings(
        self, workload: Workload, pool: int, milli: int, guaranteed: bool
    ) -> list[tuple[Key, Callable[[Book], int | None]]]:
        """Return what each use may be at most before the ask, by the terms of a moment."""
        tree = self._state.tree
        team = tree.index[workload.team]
        rules: list[tuple[Key, Callable[[Book], int | None]]] = []

        def limit_of(number: int) -> Callable[[Book], int | None]:
            def ceiling(book: Book) -> int | None:
                limits = [book.terms.limits[number]]
                borrowing = book.terms.borrowing[number]
                if borrowing is not None and not guaranteed and not self._lends[pool]:
                    limits.append(book.subtree[number] + borrowing)
                known = [limit for limit in limits if limit is not None]
                return min(known) - milli if known else None

            return ceiling

        rules += [
            (("below", pool, number, ""), limit_of(number))
            for number in tree.paths[team]
            if self._matters(pool, number)
        ]
        if guaranteed:
            fence = self._fence_of(workload, pool, team)
            rules.append(
                (("own", pool, team, ""), lambda book: book.entitled[team] - fence(book) - milli)
            )
        person = workload.user
        if person is not None:
            rules.append(
                (
                    ("person", pool, team, person),
                    lambda book: _less(book.terms.per_user[team], milli),
                )
            )
        return rules

    def _matters(self, pool: int, number: int) -> bool:
        terms = self._state.books[pool].terms
        return (
            len(self._terms.moments) > 1
            or terms.limits[number] is not None
            or terms.borrowing[number] is not None
        )

    def _fence_of(self, workload: Workload, pool: int, team: int) -> Callable[[Book], int]:
        named = self._state.books[pool].named[team]
        name = workload.reservation
        entry = self._state.reservations[name] if name is not None else None
        if entry is not None and entry.source == "guarantee":
            return lambda book: 0
        return lambda book: max(0, book.terms.fenced[team] - named)

    def _below(
        self, key: Key, ceiling: Callable[[Book], int | None], after: int, duration: int
    ) -> int | None:
        """Return the first moment from `after` on when the use stays under the ceiling so long."""
        pool = key[1]
        for start, end in self._terms.stretches(after):
            most = ceiling(self._terms.book(pool, start))
            found = start if most is None else self.steps(key).earliest_below(start, duration, most)
            if found is not None and found < end:
                return found
        return None

    def _firm_until(
        self, workload: Workload, pool: int, milli: int, after: int, duration: int
    ) -> int | None:
        """Return from when on non-preemptible work stays within what is promised to its end."""
        if workload.preemptible:
            return after
        team = self._state.tree.index[workload.team]
        steps = self.steps(("firm", pool, team, ""))
        for start, _ in self._terms.stretches(after):
            used = steps.most(start, start + duration) + milli
            promised = self._terms.book(pool, start)
            if used > promised.entitled[team]:
                continue
            later = [one for one in self._terms.moments if start < one < start + duration]
            if used <= promised.terms.guaranteed[team] or all(
                used <= self._terms.book(pool, one).entitled[team] for one in later
            ):
                return start
        return None

    def _lendable(
        self, workload: Workload, pool: int, milli: int, after: int, duration: int
    ) -> int | None:
        """Return from when on the ask can be borrowed for so long, where lending is limited."""
        tree = self._state.tree
        team = tree.index[workload.team]
        own = [self.steps(("own", pool, number, "")) for number in range(len(tree))]
        moments = sorted({one for steps in own for one in steps.moments(after, FOREVER)})
        start: int | None = None
        for moment in [after, *moments]:
            if start is not None and moment - start >= duration:
                return start
            book = self._terms.book(pool, moment)
            book.use([Amount(steps.at(moment)) for steps in own])
            if book.available(team) < milli:
                start = None
            elif start is None:
                start = moment
        return start


def _less(limit: int | None, milli: int) -> int | None:
    return None if limit is None else limit - milli
