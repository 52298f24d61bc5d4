"""The event loop: time jumps from event to event, and one decision follows all of one second."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scheduler_core.simulator.events import Event, Events, Rank
from scheduler_core.simulator.log import NEVER, Log, Part, Spell


class Begin(NamedTuple):
    """A job that starts, with as many tasks as fit: what it holds, and where."""

    job: int
    gpu_milli: int
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A running job that is preempted; `lost_seconds` of its work must be done again.

    Where only some of its tasks go, `rest` is the job as it runs on, and `gone` what they held.
    """

    job: int
    lost_seconds: int
    rest: Begin | None = None
    gone: tuple[Part, ...] = ()


class Decider(Protocol):
    """What the loop asks: it is told what happened and says who starts and who stops.

    Jobs are numbered by their place in the trace. A job that was stopped waits again at once.
    """

    def arrive(self, job: int) -> None:
        """Take note of a job that begins to wait."""
        ...

    def finish(self, job: int) -> None:
        """Take note that a running job has ended."""
        ...

    def happen(self, event: Event) -> Sequence[Stop]:
        """Take note of anything else: a reservation's edge, a node's failure or repair.

        Returns the jobs this stops; they wait again at once.
        """
        ...

    def decide(self, now: int) -> tuple[Sequence[Begin], Sequence[Stop]]:
        """Return the jobs that start now, and those preempted for them."""
        ...


Watch = Callable[[int], None]
"""Told how many jobs have ended by now."""
WATCHED_EVERY = 50


class Replay:
    """One run of a trace through a decider. `log` is complete after `run`."""

    def __init__(
        self,
        log: Log,
        decider: Decider,
        others: Iterable[Event] = (),
        present: Mapping[int, tuple[int, Begin] | None] | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Prepare to run; `others` are events beside the jobs' own.

        `present` are jobs the decider knows of already: since when each has run and what it holds,
        None if it waits.
        """
        self.log = log
        self._decider = decider
        self._watch = watch
        self._ended = 0
        self._events = Events()
        self._left = list(log.durations)
        self._turn = [0] * len(self._left)
        self._since = [NEVER] * len(self._left)
        self._runs: dict[int, Begin] = {}
        present = present or {}
        self._events.add_all(log.submitted, Rank.ARRIVAL, leaving_out=present)
        for event in others:
            self._events.add(event.at, event.rank, event.subject)
        for known in present.values():
            if known is not None:
                since, begin = known
                self._start(begin, since)

    def run(self, until: int | None = None) -> Log:
        """Run to the end, or to the first event after `until`; return the log.

        Jobs still running then have a spell up to `until` and no finish.
        """
        events, decider = self._events, self._decider
        now = events.next_time()
        while now is not None and (until is None or now <= until):
            while events.next_time() == now:
                self._happen(events.pop())
            starts, stops = decider.decide(now)
            self.log.decisions += 1
            for stop in stops:
                self._stop(stop, now)
            for begin in starts:
                self._start(begin, now)
            if self._watch is not None and self.log.decisions % WATCHED_EVERY == 0:
                self._watch(self._ended)
            now = events.next_time()
        if until is not None:
            self._cut(until)
        return self.log

    def _happen(self, event: Event) -> None:
        if event.rank is Rank.ARRIVAL:
            self._decider.arrive(event.subject)
        elif event.rank is not Rank.END:
            for stop in self._decider.happen(event):
                self._stop(stop, event.at)
        elif event.turn == self._turn[event.subject]:
            self._decider.finish(event.subject)
            self._end_spell(event.subject, event.at, 0)
            self.log.finished[event.subject] = event.at
            self._ended += 1

    def _start(self, begin: Begin, now: int) -> None:
        job = begin.job
        if self.log.started[job] == NEVER:
            self.log.started[job] = now
        self._since[job] = now
        self._runs[job] = begin
        if self._left[job] != NEVER:
            self._events.add(now + self._left[job], Rank.END, job, self._turn[job])

    def _stop(self, stop: Stop, now: int) -> None:
        self.log.preemptions += 1
        if stop.rest is not None:
            self._shrink(stop, stop.rest, now)
            return
        ran = now - self._since[stop.job]
        if self._left[stop.job] != NEVER:
            self._left[stop.job] -= ran - stop.lost_seconds
        self._turn[stop.job] += 1
        self._end_spell(stop.job, now, stop.lost_seconds)

    def _shrink(self, stop: Stop, rest: Begin, now: int) -> None:
        """Let some tasks go; the others run on, and no longer for it (durations are as told)."""
        milli = self._runs[stop.job].gpu_milli - rest.gpu_milli
        since = self._since[stop.job]
        self.log.spells.append(Spell(stop.job, since, now, milli, stop.lost_seconds))
        self.log.held.append(stop.gone)
        self._runs[stop.job] = rest

    def _end_spell(self, job: int, now: int, lost: int) -> None:
        begin = self._runs.pop(job)
        self.log.spells.append(Spell(job, self._since[job], now, begin.gpu_milli, lost))
        self.log.held.append(begin.parts)
        self._since[job] = NEVER

    def _cut(self, until: int) -> None:
        for job, since in enumerate(self._since):
            if since != NEVER:
                self._end_spell(job, until, 0)
