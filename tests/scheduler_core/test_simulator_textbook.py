"""Backfill through the planner against the textbook, on one pool of GPUs with exact ends."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core import model
from scheduler_core.simulator import running
from scheduler_core.simulator.events import Event
from scheduler_core.simulator.replay import Begin, Replay, Stop
from scheduler_core.simulator.scenario import equal_nodes, scenario
from scheduler_core.traces import Job


class Textbook:
    """What both ways of backfilling keep: who waits, and when each running job ends."""

    def __init__(self, capacity: int, asks: Sequence[int], durations: Sequence[int]) -> None:
        self.capacity = capacity
        self.asks = asks
        self.durations = durations
        self.queue: list[int] = []
        self.ends: dict[int, int] = {}

    def arrive(self, job: int) -> None:
        self.queue.append(job)

    def finish(self, job: int) -> None:
        del self.ends[job]

    def happen(self, event: Event) -> list[Stop]:
        raise NotImplementedError(event)

    def start(self, job: int, now: int) -> Begin:
        self.queue.remove(job)
        self.ends[job] = now + self.durations[job]
        return Begin(job, self.asks[job])

    def free(self) -> int:
        """Return the GPU no running job holds."""
        return self.capacity - sum(self.asks[job] for job in self.ends)


class Easy(Textbook):
    """Mu'alem and Feitelson, IEEE TPDS 12(6), 2001: only the first in line holds a reservation."""

    def decide(self, now: int) -> tuple[list[Begin], list[Stop]]:
        starts: list[Begin] = []
        while self.queue and self.asks[self.queue[0]] <= self.free():
            starts.append(self.start(self.queue[0], now))
        if self.queue:
            shadow, extra = self.reserve(self.asks[self.queue[0]])
            for job in self.queue[1:]:
                ends_before = now + self.durations[job] <= shadow
                if self.asks[job] > self.free() or not (ends_before or self.asks[job] <= extra):
                    continue
                extra -= 0 if ends_before else self.asks[job]
                starts.append(self.start(job, now))
        return starts, []

    def reserve(self, ask: int) -> tuple[int, int]:
        """Return when the head will fit, and what is free beside it then."""
        for end in sorted(set(self.ends.values())):
            gone = sum(self.asks[job] for job, at in self.ends.items() if at <= end)
            if self.free() + gone >= ask:
                return end, self.free() + gone - ask
        raise AssertionError("the head never fits")


class Conservative(Textbook):
    """The same paper: each in line gets the earliest hole that moves nobody ahead of it."""

    def decide(self, now: int) -> tuple[list[Begin], list[Stop]]:
        taken = [(now, end, self.asks[job]) for job, end in self.ends.items()]
        starts: list[Begin] = []
        for job in list(self.queue):
            begin = self.hole(job, now, taken)
            taken.append((begin, begin + self.durations[job], self.asks[job]))
            if begin == now:
                starts.append(self.start(job, now))
        return starts, []

    def hole(self, job: int, now: int, taken: list[tuple[int, int, int]]) -> int:
        """Return the first moment from which the job fits for as long as it runs."""
        for begin in sorted({now, *(end for _, end, _ in taken)}):
            until = begin + self.durations[job]
            moments = [begin, *(low for low, _, _ in taken if begin < low < until)]
            most = max(
                sum(ask for low, high, ask in taken if low <= moment < high) for moment in moments
            )
            if most + self.asks[job] <= self.capacity:
                return begin
        raise AssertionError("the job never fits")


@given(
    st.lists(
        st.builds(
            lambda at, long, gpus: Job("j", at, long, gpus * 1000),
            st.integers(0, 20),
            st.integers(1, 15),
            st.integers(1, 8),
        ),
        min_size=2,
        max_size=12,
    )
)
@pytest.mark.parametrize(("backfill", "book"), [("easy", Easy), ("conservative", Conservative)])
def test_the_planner_backfills_as_the_textbook_does(
    backfill: str, book: type[Easy | Conservative], jobs: list[Job]
) -> None:
    plan = scenario(jobs, equal_nodes("1x8"), model.Policy(order="fifo", backfill=backfill))
    asks = [one.gpu_milli for one in plan.workloads]
    textbook = book(plan.capacity_milli, asks, plan.durations)
    expected = Replay(running.log_of(plan), textbook).run()
    found = Replay(running.log_of(plan), running.planned(plan)).run()
    assert found.started == expected.started
