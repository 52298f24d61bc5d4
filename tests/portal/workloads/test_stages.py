"""Stages worked out from the times of pods."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.workloads.models import WorkloadState as State
from portal.workloads.stages import Span, count_preemptions, first, stages

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minute)


def told(*spans: Span, needed: int = 1, ended: State | None = None, end: int = 0) -> list[str]:
    """The stages in short: `minute state why`."""
    found = stages(
        submitted_at=at(0), needed=needed, spans=spans, ended=ended,
        ended_at=at(end) if ended else None,
    )  # fmt: skip
    return [
        f"{int((s.at - NOON).total_seconds() // 60)} {s.state.value} {s.why}".strip() for s in found
    ]


def test_without_pods_it_waits() -> None:
    assert told() == ["0 waiting"]


def test_a_plain_life() -> None:
    pod = Span(at(1), at(2), at(5), closed_at=at(60))
    assert told(pod, ended=State.SUCCEEDED, end=60) == [
        "0 waiting", "1 admitted", "2 starting", "5 running", "60 succeeded"
    ]  # fmt: skip


def test_a_preempted_one_waits_again_with_its_history() -> None:
    first_try = Span(at(1), at(2), at(5), at(20), at(21), "preempted")
    second = Span(at(22), at(30), at(31))
    assert told(first_try, second) == [
        "0 waiting", "1 admitted", "2 starting", "5 running", "20 stopping preempted",
        "21 waiting preempted", "22 admitted", "30 starting", "31 running",
    ]  # fmt: skip
    found = stages(submitted_at=at(0), needed=1, spans=[first_try, second])
    assert count_preemptions(found) == 1
    assert first(found, State.RUNNING) == at(5)


def test_a_lost_node_is_no_preemption() -> None:
    found = stages(
        submitted_at=at(0), needed=1, spans=[Span(at(1), at(2), at(3), at(9), at(9), "node_lost")]
    )
    assert (found[-1].state, found[-1].why) == (State.WAITING, "node_lost")
    assert count_preemptions(found) == 0


def test_a_gang_runs_when_all_of_it_is_ready() -> None:
    spans = [Span(at(1), at(2), at(3)), Span(at(1), at(2), at(8))]
    assert told(*spans, needed=2) == ["0 waiting", "1 admitted", "2 starting", "8 running"]


def test_what_lasted_no_time_is_not_told() -> None:
    assert told(Span(at(0), at(0), at(4))) == ["0 starting", "4 running"]


def test_a_pod_taken_back_before_it_held_anything_leaves_it_waiting() -> None:
    assert told(Span(at(1), stopping_at=at(7), closed_at=at(7), why="deleted")) == [
        "0 waiting", "1 admitted", "7 waiting deleted"
    ]  # fmt: skip


minutes = st.integers(0, 500)


@st.composite
def lives(draw: st.DrawFn) -> Span:
    """A pod whose times are in order, any of them missing from some point on."""
    times = sorted(draw(st.lists(minutes, min_size=5, max_size=5)))
    known = draw(st.integers(1, 5))
    marks = [at(time) if number < known else None for number, time in enumerate(times)]
    created, scheduled, ready, stopping, closed = marks
    assert created is not None
    return Span(created, scheduled, ready, stopping, closed, "preempted" if stopping else "")


@given(st.lists(lives(), max_size=6), st.integers(1, 3), st.randoms())
def test_stages_follow_one_another_whatever_the_order_pods_are_told_in(
    spans: list[Span], needed: int, random: object
) -> None:
    found = stages(submitted_at=at(0), needed=needed, spans=spans)
    shuffled = list(spans)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert stages(submitted_at=at(0), needed=needed, spans=shuffled) == found
    assert all(a.at < b.at and a.state != b.state for a, b in pairwise(found))
    open_now = [span for span in spans if span.closed_at is None]
    assert (found[-1].state == State.WAITING) == (not open_now)


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED])
def test_the_end_comes_last_even_if_pods_are_said_to_move_after_it(state: State) -> None:
    pod = Span(at(1), at(2), at(3), at(50), at(55), "deleted")
    assert told(pod, ended=state, end=50)[-1] == f"50 {state.value}"
