"""Quotas over time: what each team uses from now on, and from when on an ask is allowed."""

from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from scheduler_core.backfill.steps import FOREVER, Steps
from scheduler_core.model import Workload
from scheduler_core.resources import Amount
from scheduler_core.scratch import Book, Held, State
from scheduler_core.scratch.terms import boundaries, entitlements

Key = tuple[str, int, int, str]
"""("own" | "below" | "firm" | "person", pool, team, person)."""

_TRIES = 100
"""So often the rules may push a start on before it is given up."""


class _Rule(NamedTuple):
    """A use over time, and its cap in each stretch of the terms."""

    steps: Steps
    ceilings: list[int | None]


class Terms:
    """What is promised and allowed at any moment; one book without use for each stretch."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.moments = [state.now, *boundaries(state.snapshot)]
        self._books: dict[int, list[Book]] = {}

    def place(self, moment: int) -> int:
        """Return the number of the stretch the moment lies in."""
        return max(0, bisect_right(self.moments, moment) - 1)

    def book(self, pool: int, moment: int) -> Book:
        """Return the book whose terms hold at the moment; its use means nothing."""
        start = self.moments[self.place(moment)]
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
        self._limiting: dict[int, set[int]] = {}
        self._known_rules: dict[object, list[_Rule]] = {}
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
        for _ in range(_TRIES):
            moment = self._pushed(workload, pool, milli, after, duration, guaranteed)
            if moment == after or moment is None:
                return moment
            after = moment
        return None

    def _pushed(
        self, workload: Workload, pool: int, milli: int, after: int, duration: int, guaranteed: bool
    ) -> int | None:
        """Return the moment to which the rules, one after the other, push the start on."""
        moment: int | None = after
        for rule in self._rules(workload, pool, guaranteed):
            if moment is not None:
                moment = self._below(rule, milli, moment, duration)
        if moment is not None and not workload.preemptible:
            moment = self._firm_until(workload, pool, milli, moment, duration)
        if moment is not None and not guaranteed and self._lends[pool]:
            moment = self._lendable(workload, pool, milli, moment, duration)
        return moment

    def _rules(self, workload: Workload, pool: int, guaranteed: bool) -> list[_Rule]:
        """Return what each use may be at most, stretch by stretch of the terms; kept by team."""
        team = self._state.tree.index[workload.team]
        reservation = self._state.reservations.get(workload.reservation or "")
        fences = reservation is None or reservation.source != "guarantee"
        user = workload.user if team in self._limits_people(pool) else None
        key = (team, pool, guaranteed, user, fences)
        rules = self._known_rules.get(key)
        if rules is None:
            rules = self._known_rules[key] = [
                _Rule(self.steps(name), ceilings)
                for name, ceilings in self._ceilings(team, pool, user, guaranteed, fences)
                if any(most is not None for most in ceilings)
            ]
        return rules

    def _limits_people(self, pool: int) -> set[int]:
        """Return the teams that ever limit what one person may use."""
        if pool not in self._limiting:
            books = [self._terms.book(pool, moment) for moment in self._terms.moments]
            self._limiting[pool] = {
                team
                for team in range(len(self._state.tree))
                if any(book.terms.per_user[team] is not None for book in books)
            }
        return self._limiting[pool]

    def _ceilings(
        self, team: int, pool: int, user: str | None, guaranteed: bool, fences: bool
    ) -> Iterator[tuple[Key, list[int | None]]]:
        """Yield each use that is capped, with its cap in each stretch."""
        books = [self._terms.book(pool, moment) for moment in self._terms.moments]
        borrows = not guaranteed and not self._lends[pool]
        for number in self._state.tree.paths[team]:
            caps = [_capped(book, number, borrows) for book in books]
            yield ("below", pool, number, ""), caps
        if guaranteed:
            named = self._state.books[pool].named[team] if fences else FOREVER
            yield (
                ("own", pool, team, ""),
                [book.entitled[team] - max(0, book.terms.fenced[team] - named) for book in books],
            )
        if user is not None:
            yield ("person", pool, team, user), [book.terms.per_user[team] for book in books]

    def _below(self, rule: _Rule, milli: int, after: int, duration: int) -> int | None:
        """Return the first moment from `after` on when the use stays under the cap so long."""
        if len(rule.ceilings) == 1:
            most = rule.ceilings[0]
            assert most is not None
            return rule.steps.earliest_below(after, duration, most - milli)
        for start, end in self._terms.stretches(after):
            most = rule.ceilings[self._terms.place(start)]
            found = start
            if most is not None:
                later = rule.steps.earliest_below(start, duration, most - milli)
                if later is None or later >= end:
                    continue
                found = later
            return found
        return None

    def _firm_until(
        self, workload: Workload, pool: int, milli: int, after: int, duration: int
    ) -> int | None:
        """Return from when on non-preemptible work stays within what is promised to its end."""
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
        start: int | None = None
        book: Book | None = None
        for moment, changes in _in_turn(own, after):
            if start is not None and moment - start >= duration:
                return start
            before, book = book, self._terms.book(pool, moment)
            if book is not before:
                book.use([Amount(steps.at(moment)) for steps in own])
            else:
                for number, change in changes:
                    book.add(number, Amount(change), 1)
            if book.available(team) < milli:
                start = None
            elif start is None:
                start = moment
        return start


def _in_turn(own: list[Steps], after: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield `after`, then each later moment at which some use steps: the teams, and by how much."""
    yield after, []
    merged = merge(*(steps.changes(after, number) for number, steps in enumerate(own)))
    for moment, group in groupby(merged, key=itemgetter(0)):
        yield moment, [(number, change) for _, number, change in group]


def _capped(book: Book, team: int, borrows: bool) -> int | None:
    """Return what the team and all below it may use at most by limit and borrowing limit."""
    limit, borrowing = book.terms.limits[team], book.terms.borrowing[team]
    if borrowing is None or not borrows:
        return limit
    most = book.subtree[team] + borrowing
    return most if limit is None else min(limit, most)
